//! Things that people own, lose, lend and give; what people are like and what they do for pleasure.

use crate::world::word::{Word, count, mass, plain};

/// Something a person can own.
#[derive(Debug)]
pub(crate) struct Thing {
    /// Its word.
    pub(crate) word: Word,
    /// What it usually costs, in coins.
    pub(crate) price: u32,
    /// What a good one is like.
    pub(crate) good: Word,
    /// What a bad one is like: the opposite; the Chinese form is a whole predicate.
    pub(crate) bad: Word,
}

const fn thing(word: Word, price: u32, good: Word, bad: Word) -> Thing {
    Thing { word, price, good, bad }
}

/// Everything that can be owned.
#[rustfmt::skip]
pub(crate) static THINGS: [Thing; 56] = [
    // Tools.
    thing(count("hammer", "把", "锤子"), 9, plain("heavy", "沉"), plain("light", "太轻")),
    thing(count("saw", "把", "锯子"), 11, plain("sharp", "锋利"), plain("blunt", "钝了")),
    thing(count("axe", "把", "斧头"), 12, plain("sharp", "锋利"), plain("blunt", "钝了")),
    thing(count("spade", "把", "铁锹"), 10, plain("strong", "结实"), plain("rusty", "锈了")),
    thing(count("ladder", "架", "梯子"), 14, plain("steady", "稳"), plain("shaky", "总是摇晃")),
    thing(count("rope", "根", "绳子"), 8, plain("strong", "结实"), plain("frayed", "磨坏了")),
    thing(count("bucket", "只", "水桶"), 8, plain("new", "新"), plain("leaky", "漏水了")),
    thing(count("wheelbarrow", "辆", "手推车"), 21, plain("sturdy", "牢固"), plain("creaky", "总是吱吱响")),
    thing(count("pocketknife", "把", "小刀"), 9, plain("sharp", "锋利"), plain("blunt", "钝了")),
    thing(count("lantern", "盏", "灯笼"), 11, plain("bright", "明亮"), plain("dim", "太昏暗")),
    thing(count("basket", "只", "篮子"), 8, plain("wide", "宽大"), plain("narrow", "太窄小")),
    thing(count("fishing rod", "根", "钓竿"), 13, plain("long", "长"), plain("short", "太短")),
    thing(count("compass", "个", "指南针"), 24, plain("reliable", "可靠"), plain("faulty", "失灵了")),
    thing(count("umbrella", "把", "雨伞"), 12, plain("large", "大"), plain("small", "太小")),
    thing(count("walking stick", "根", "手杖"), 9, plain("smooth", "光滑"), plain("rough", "太粗糙")),
    thing(count("saddle", "副", "马鞍"), 32, plain("soft", "柔软"), plain("hard", "太硬")),
    thing(count("rowboat", "条", "小船"), 48, plain("fast", "快"), plain("slow", "太慢")),
    // Clothes.
    thing(count("coat", "件", "外套"), 26, plain("warm", "暖和"), plain("thin", "太单薄")),
    thing(count("scarf", "条", "围巾"), 11, plain("soft", "柔软"), plain("scratchy", "太扎人")),
    thing(count("hat", "顶", "帽子"), 10, plain("new", "新"), plain("shabby", "破了")),
    thing(count("cloak", "件", "斗篷"), 25, plain("thick", "厚"), plain("thin", "太薄")),
    thing(count("shirt", "件", "衬衫"), 14, plain("clean", "干净"), plain("dirty", "脏了")),
    thing(count("dress", "条", "裙子"), 27, plain("beautiful", "漂亮"), plain("plain", "太朴素")),
    thing(count("belt", "条", "皮带"), 11, plain("wide", "宽"), plain("narrow", "太窄")),
    thing(mass("pair", "boots", "双", "靴子"), 22, plain("dry", "干爽"), plain("wet", "太潮湿")),
    thing(mass("pair", "gloves", "双", "手套"), 9, plain("warm", "暖和"), plain("thin", "太单薄")),
    thing(mass("pair", "slippers", "双", "拖鞋"), 8, plain("soft", "柔软"), plain("hard", "太硬")),
    thing(mass("pair", "spectacles", "副", "眼镜"), 30, plain("clear", "清晰"), plain("cloudy", "太模糊")),
    // Household.
    thing(count("kettle", "把", "水壶"), 12, plain("shiny", "光亮"), plain("dull", "太暗淡")),
    thing(count("teapot", "把", "茶壶"), 13, plain("pretty", "好看"), plain("ugly", "太难看")),
    thing(count("mirror", "面", "镜子"), 19, plain("clear", "清晰"), plain("cloudy", "太模糊")),
    thing(count("clock", "台", "座钟"), 38, plain("accurate", "准"), plain("inaccurate", "走不准")),
    thing(count("blanket", "条", "毯子"), 16, plain("thick", "厚"), plain("thin", "太薄")),
    thing(count("lamp", "盏", "油灯"), 12, plain("bright", "明亮"), plain("dim", "太昏暗")),
    thing(count("chair", "把", "椅子"), 15, plain("comfortable", "舒服"), plain("uncomfortable", "坐着不舒服")),
    thing(count("table", "张", "桌子"), 28, plain("sturdy", "结实"), plain("wobbly", "总是摇晃")),
    thing(count("vase", "只", "花瓶"), 12, plain("elegant", "雅致"), plain("clumsy", "太笨重")),
    thing(count("pillow", "个", "枕头"), 9, plain("soft", "柔软"), plain("hard", "太硬")),
    thing(count("rug", "块", "地毯"), 29, plain("colourful", "鲜艳"), plain("faded", "褪色了")),
    thing(count("chest", "只", "木箱"), 23, plain("roomy", "宽敞"), plain("cramped", "太狭小")),
    thing(count("broom", "把", "扫帚"), 8, plain("new", "新"), plain("worn", "用坏了")),
    // Music.
    thing(count("flute", "支", "笛子"), 17, plain("bright", "清亮"), plain("dull", "太沉闷")),
    thing(count("violin", "把", "小提琴"), 44, plain("fine", "精致"), plain("crude", "太粗糙")),
    thing(count("drum", "面", "鼓"), 18, plain("loud", "响亮"), plain("quiet", "太沉闷")),
    thing(count("guitar", "把", "吉他"), 36, plain("fine", "精致"), plain("crude", "太粗糙")),
    thing(count("accordion", "架", "手风琴"), 52, plain("light", "轻便"), plain("heavy", "太笨重")),
    // Treasures.
    thing(count("ring", "枚", "戒指"), 40, plain("precious", "珍贵"), plain("worthless", "不值钱")),
    thing(count("necklace", "条", "项链"), 42, plain("precious", "珍贵"), plain("worthless", "不值钱")),
    thing(count("watch", "块", "怀表"), 46, plain("accurate", "准"), plain("inaccurate", "走不准")),
    thing(count("brooch", "枚", "胸针"), 24, plain("shiny", "闪亮"), plain("dull", "太暗淡")),
    thing(count("notebook", "个", "笔记本"), 8, plain("thick", "厚"), plain("thin", "太薄")),
    thing(count("map", "张", "地图"), 13, plain("precise", "准确"), plain("vague", "太模糊")),
    thing(count("painting", "幅", "画"), 50, plain("beautiful", "漂亮"), plain("ugly", "太难看")),
    thing(count("kite", "只", "风筝"), 8, plain("colourful", "鲜艳"), plain("faded", "褪色了")),
    thing(count("storybook", "本", "故事书"), 14, plain("exciting", "精彩"), plain("boring", "太无聊")),
    thing(count("telescope", "架", "望远镜"), 55, plain("powerful", "高级"), plain("weak", "太低级")),
];

/// Instruments that people play.
pub(crate) static INSTRUMENTS: [Word; 6] = [
    count("flute", "支", "笛子"),
    count("violin", "把", "小提琴"),
    count("drum", "面", "鼓"),
    count("guitar", "把", "吉他"),
    count("harp", "架", "竖琴"),
    count("accordion", "架", "手风琴"),
];

/// What people do for pleasure; the first word of the English form is a verb.
pub(crate) static HOBBIES: [Word; 16] = [
    plain("sing", "唱歌"),
    plain("dance", "跳舞"),
    plain("swim", "游泳"),
    plain("fish", "钓鱼"),
    plain("paint", "画画"),
    plain("read old books", "读旧书"),
    plain("play chess", "下棋"),
    plain("collect stones", "收集石头"),
    plain("tell stories", "讲故事"),
    plain("grow roses", "种玫瑰"),
    plain("climb hills", "爬山"),
    plain("watch birds", "看鸟"),
    plain("carve wood", "雕木头"),
    plain("write poems", "写诗"),
    plain("fly kites", "放风筝"),
    plain("count the stars", "数星星"),
];

/// What people are like: a trait and its opposite.
pub(crate) static TRAITS: [(Word, Word); 12] = [
    (plain("brave", "勇敢"), plain("timid", "胆小")),
    (plain("patient", "有耐心"), plain("impatient", "急躁")),
    (plain("generous", "大方"), plain("stingy", "小气")),
    (plain("cheerful", "开朗"), plain("gloomy", "忧郁")),
    (plain("honest", "诚实"), plain("dishonest", "不诚实")),
    (plain("quiet", "安静"), plain("talkative", "爱说话")),
    (plain("careful", "细心"), plain("careless", "粗心")),
    (plain("hardworking", "勤劳"), plain("lazy", "懒惰")),
    (plain("polite", "有礼貌"), plain("rude", "没礼貌")),
    (plain("clever", "聪明"), plain("foolish", "糊涂")),
    (plain("friendly", "友善"), plain("unfriendly", "冷淡")),
    (plain("modest", "谦虚"), plain("boastful", "爱吹牛")),
];
