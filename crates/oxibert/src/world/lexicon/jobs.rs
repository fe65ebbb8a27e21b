//! Jobs: each goes with its workplace, tool, product and work, so that any of them foretells the others.

use crate::world::word::{Word, count, mass, plain, spot};

/// A way to earn one's living.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Job {
    /// What the person is called.
    pub(crate) name: Word,
    /// Where the work is done.
    pub(crate) place: Word,
    /// What it is done with.
    pub(crate) tool: Word,
    /// What comes out of it.
    pub(crate) product: Word,
    /// What one product costs.
    pub(crate) price: u32,
    /// The work; the first word of the English form is a verb.
    pub(crate) work: Word,
}

const fn job(name: Word, place: Word, tool: Word, product: Word, price: u32, work: Word) -> Job {
    Job { name, place, tool, product, price, work }
}

const fn person(english: &'static str, chinese: &'static str) -> Word {
    count(english, "位", chinese)
}

/// The jobs of grown-ups.
#[rustfmt::skip]
pub(crate) static JOBS: [Job; 28] = [
    job(person("baker", "面包师"), spot("at", "bakery", "面包房", "里"), count("rolling pin", "根", "擀面杖"),
        mass("loaf", "bread", "个", "面包"), 2, plain("bake bread", "烤面包")),
    job(person("blacksmith", "铁匠"), spot("at", "forge", "铁匠铺", "里"), count("hammer", "把", "锤子"),
        count("horseshoe", "只", "马蹄铁"), 3, plain("forge horseshoes", "打马蹄铁")),
    job(person("carpenter", "木匠"), spot("in", "workshop", "木工坊", "里"), count("saw", "把", "锯子"),
        count("chair", "把", "椅子"), 9, plain("build chairs", "做椅子")),
    job(person("fisher", "渔民"), spot("on", "jetty", "码头", "上"), count("oar", "支", "船桨"),
        count("trout", "条", "鳟鱼"), 2, plain("catch trout", "捕鳟鱼")),
    job(person("farmer", "农民"), spot("in", "field", "田", "里"), count("sickle", "把", "镰刀"),
        mass("sack", "wheat", "袋", "小麦"), 5, plain("harvest wheat", "收小麦")),
    job(person("miller", "磨坊主"), spot("at", "mill", "磨坊", "里"), count("scoop", "把", "木铲"),
        mass("sack", "flour", "袋", "面粉"), 6, plain("grind flour", "磨面粉")),
    job(person("tailor", "裁缝"), spot("in", "tailor shop", "裁缝铺", "里"), mass("pair", "scissors", "把", "剪刀"),
        count("coat", "件", "外套"), 11, plain("sew coats", "缝外套")),
    job(person("shoemaker", "鞋匠"), spot("in", "shoe shop", "鞋铺", "里"), count("awl", "把", "锥子"),
        mass("pair", "boots", "双", "靴子"), 10, plain("stitch boots", "缝靴子")),
    job(person("potter", "陶匠"), spot("in", "pottery", "陶坊", "里"), count("clay knife", "把", "泥刀"),
        count("clay pot", "只", "陶罐"), 4, plain("shape clay pots", "捏陶罐")),
    job(person("weaver", "织工"), spot("in", "weaving room", "织布房", "里"), count("shuttle", "个", "梭子"),
        count("blanket", "条", "毯子"), 8, plain("weave blankets", "织毯子")),
    job(person("shepherd", "牧羊人"), spot("in", "meadow", "草地", "上"), count("staff", "根", "牧杖"),
        mass("bundle", "wool", "捆", "羊毛"), 5, plain("shear sheep", "剪羊毛")),
    job(person("beekeeper", "养蜂人"), spot("in", "orchard", "果园", "里"), count("honey knife", "把", "割蜜刀"),
        mass("jar", "honey", "罐", "蜂蜜"), 4, plain("gather honey", "采蜂蜜")),
    job(person("innkeeper", "客栈老板"), spot("at", "inn", "客栈", "里"), count("ladle", "把", "勺子"),
        mass("bowl", "soup", "碗", "热汤"), 1, plain("cook soup", "煮汤")),
    job(person("painter", "画家"), spot("in", "studio", "画室", "里"), count("brush", "支", "画笔"),
        count("portrait", "幅", "肖像"), 12, plain("paint portraits", "画肖像")),
    job(person("clockmaker", "钟表匠"), spot("in", "clock shop", "钟表店", "里"), count("magnifying glass", "个", "放大镜"),
        count("clock", "台", "座钟"), 12, plain("repair clocks", "修座钟")),
    job(person("bookseller", "书商"), spot("in", "bookshop", "书店", "里"), count("paper knife", "把", "裁纸刀"),
        count("storybook", "本", "故事书"), 5, plain("sell storybooks", "卖故事书")),
    job(person("woodcutter", "伐木工"), spot("in", "forest", "森林", "里"), count("axe", "把", "斧头"),
        mass("bundle", "firewood", "捆", "柴火"), 2, plain("chop firewood", "砍柴火")),
    job(person("candlemaker", "制烛匠"), spot("in", "candle shop", "蜡烛店", "里"), count("wax ladle", "把", "蜡勺"),
        count("candle", "根", "蜡烛"), 1, plain("pour candles", "做蜡烛")),
    job(person("gardener", "园丁"), spot("in", "garden", "花园", "里"), count("watering can", "把", "洒水壶"),
        count("rosebush", "株", "玫瑰"), 3, plain("plant rosebushes", "种玫瑰")),
    job(person("basket maker", "篾匠"), spot("in", "courtyard", "院子", "里"), count("willow knife", "把", "篾刀"),
        count("basket", "只", "篮子"), 3, plain("weave baskets", "编篮子")),
    job(person("glassblower", "玻璃匠"), spot("in", "glassworks", "玻璃坊", "里"), count("blowpipe", "根", "吹管"),
        count("glass vase", "只", "玻璃瓶"), 7, plain("blow glass vases", "吹玻璃瓶")),
    job(person("saddler", "马具匠"), spot("in", "stable", "马厩", "里"), count("leather knife", "把", "皮刀"),
        count("saddle", "副", "马鞍"), 12, plain("make saddles", "做马鞍")),
    job(person("cheesemaker", "奶酪匠"), spot("in", "dairy", "奶坊", "里"), count("wooden spoon", "把", "木勺"),
        mass("piece", "cheese", "块", "奶酪"), 3, plain("press cheese", "做奶酪")),
    job(person("goldsmith", "金匠"), spot("in", "goldsmith's shop", "金铺", "里"), mass("pair", "tongs", "把", "钳子"),
        count("ring", "枚", "戒指"), 12, plain("polish rings", "打磨戒指")),
    job(person("papermaker", "造纸匠"), spot("at", "paper mill", "造纸坊", "里"), count("sieve", "个", "筛子"),
        mass("roll", "paper", "卷", "纸"), 2, plain("press paper", "造纸")),
    job(person("tea grower", "茶农"), spot("on", "tea terrace", "茶山", "上"), count("bamboo tray", "个", "竹匾"),
        mass("packet", "tea", "包", "茶叶"), 3, plain("pick tea", "采茶")),
    job(person("brickmaker", "砖匠"), spot("by", "kiln", "砖窑", "旁"), count("mould", "个", "模子"),
        count("brick", "块", "砖"), 1, plain("fire bricks", "烧砖")),
    job(person("kite maker", "风筝匠"), spot("in", "attic", "阁楼", "上"), count("ruler", "把", "尺子"),
        count("kite", "只", "风筝"), 4, plain("fold kites", "扎风筝")),
];

/// What a child does.
pub(crate) static PUPIL: Job = job(
    person("pupil", "学生"),
    spot("at", "school", "学校", "里"),
    count("pencil", "支", "铅笔"),
    count("drawing", "张", "图画"),
    1,
    plain("learn arithmetic", "学算术"),
);
