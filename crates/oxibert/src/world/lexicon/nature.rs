//! Time, weather, animals, colours and the spots of a place.

use crate::world::word::{Word, count, plain, spot};

/// A season with the weathers it can have.
#[derive(Debug)]
pub(crate) struct Season {
    /// Its word.
    pub(crate) word: Word,
    /// Indices into [`WEATHERS`].
    pub(crate) weathers: &'static [usize],
}

/// The year, in order.
pub(crate) static SEASONS: [Season; 4] = [
    Season { word: plain("spring", "春天"), weathers: &[0, 1, 2, 4, 5] },
    Season { word: plain("summer", "夏天"), weathers: &[0, 1, 3, 5, 6] },
    Season { word: plain("autumn", "秋天"), weathers: &[0, 1, 2, 4, 5] },
    Season { word: plain("winter", "冬天"), weathers: &[0, 2, 4, 7, 8] },
];

/// The months, three to a season from spring on.
pub(crate) static MONTHS: [Word; 12] = [
    plain("March", "三月"),
    plain("April", "四月"),
    plain("May", "五月"),
    plain("June", "六月"),
    plain("July", "七月"),
    plain("August", "八月"),
    plain("September", "九月"),
    plain("October", "十月"),
    plain("November", "十一月"),
    plain("December", "十二月"),
    plain("January", "一月"),
    plain("February", "二月"),
];

/// A weather: its noun, its adjective and how warm it is.
#[derive(Debug)]
pub(crate) struct Weather {
    /// "rain", 大雨.
    pub(crate) noun: Word,
    /// "rainy", 阴雨.
    pub(crate) adjective: Word,
    /// Degrees it adds to the season's usual warmth.
    pub(crate) warmth: i32,
}

const fn weather(noun: Word, adjective: Word, warmth: i32) -> Weather {
    Weather { noun, adjective, warmth }
}

/// All weathers; the seasons and the chronicle know them by index.
pub(crate) static WEATHERS: [Weather; 9] = [
    weather(plain("sunshine", "阳光"), plain("sunny", "晴朗"), 4),
    weather(plain("rain", "大雨"), plain("rainy", "阴雨"), -2),
    weather(plain("fog", "大雾"), plain("foggy", "多雾"), -1),
    weather(plain("thunderstorms", "雷雨"), plain("stormy", "雷雨交加"), -3),
    weather(plain("wind", "大风"), plain("windy", "多风"), -2),
    weather(plain("clouds", "云"), plain("cloudy", "多云"), 0),
    weather(plain("heat", "高温"), plain("hot", "炎热"), 8),
    weather(plain("snow", "大雪"), plain("snowy", "多雪"), -8),
    weather(plain("frost", "霜冻"), plain("frosty", "寒冷"), -11),
];

/// The week, from Monday on.
pub(crate) static WEEKDAYS: [Word; 7] = [
    plain("Monday", "星期一"),
    plain("Tuesday", "星期二"),
    plain("Wednesday", "星期三"),
    plain("Thursday", "星期四"),
    plain("Friday", "星期五"),
    plain("Saturday", "星期六"),
    plain("Sunday", "星期日"),
];

/// The day, in order, as openings of a sentence.
pub(crate) static PART_OF_DAY: [Word; 8] = [
    plain("early in the morning", "一大早"),
    plain("in the morning", "上午"),
    plain("before noon", "临近中午"),
    plain("at noon", "中午"),
    plain("in the afternoon", "下午"),
    plain("toward evening", "傍晚"),
    plain("in the evening", "晚上"),
    plain("late at night", "深夜"),
];

/// Public spots that every place has.
pub(crate) static SPOTS: [Word; 18] = [
    spot("at", "market", "市场", "上"),
    spot("by", "well", "水井", "边"),
    spot("on", "bridge", "石桥", "上"),
    spot("in", "forest", "森林", "里"),
    spot("in", "square", "广场", "上"),
    spot("at", "school", "学校", "里"),
    spot("in", "meadow", "草地", "上"),
    spot("on", "hill", "山坡", "上"),
    spot("at", "inn", "客栈", "里"),
    spot("in", "orchard", "果园", "里"),
    spot("in", "library", "图书馆", "里"),
    spot("at", "mill", "磨坊", "里"),
    spot("by", "fountain", "喷泉", "旁"),
    spot("at", "town gate", "大门", "口"),
    spot("by", "pond", "池塘", "边"),
    spot("in", "vegetable garden", "菜园", "里"),
    spot("at", "teahouse", "茶馆", "里"),
    spot("in", "bathhouse", "澡堂", "里"),
];

/// Spots where a thing lies unseen or an animal hides.
pub(crate) static HIDEOUTS: [Word; 16] = [
    spot("under", "table", "桌子", "底下"),
    spot("behind", "fence", "篱笆", "后面"),
    spot("in", "barn", "谷仓", "里"),
    spot("in", "cellar", "地窖", "里"),
    spot("under", "old oak", "老橡树", "下"),
    spot("behind", "stove", "炉子", "后面"),
    spot("in", "haystack", "干草堆", "里"),
    spot("in", "stable", "马厩", "里"),
    spot("on", "windowsill", "窗台", "上"),
    spot("under", "bridge", "石桥", "下"),
    spot("in", "tall grass", "草丛", "里"),
    spot("behind", "bakery", "面包房", "后面"),
    spot("in", "wardrobe", "衣柜", "里"),
    spot("under", "bench", "长凳", "下"),
    spot("on", "roof", "屋顶", "上"),
    spot("behind", "church", "教堂", "后面"),
];

/// Animals that live with people.
pub(crate) static ANIMALS: [Word; 16] = [
    count("dog", "条", "狗"),
    count("cat", "只", "猫"),
    count("goat", "只", "山羊"),
    count("puppy", "只", "小狗"),
    count("hedgehog", "只", "刺猬"),
    count("monkey", "只", "猴子"),
    count("hen", "只", "母鸡"),
    count("duck", "只", "鸭子"),
    count("goose", "只", "鹅"),
    count("rabbit", "只", "兔子"),
    count("parrot", "只", "鹦鹉"),
    count("squirrel", "只", "松鼠"),
    count("pigeon", "只", "鸽子"),
    count("lamb", "只", "小羊"),
    count("kitten", "只", "小猫"),
    count("piglet", "头", "小猪"),
];

/// Colours, of animals and of roofs.
pub(crate) static COLOURS: [Word; 8] = [
    plain("white", "白色"),
    plain("black", "黑色"),
    plain("brown", "棕色"),
    plain("grey", "灰色"),
    plain("red", "红色"),
    plain("yellow", "黄色"),
    plain("blue", "蓝色"),
    plain("green", "绿色"),
];

/// The eight winds, clockwise from north.
pub(crate) static DIRECTIONS: [Word; 8] = [
    plain("north", "北"),
    plain("northeast", "东北"),
    plain("east", "东"),
    plain("southeast", "东南"),
    plain("south", "南"),
    plain("southwest", "西南"),
    plain("west", "西"),
    plain("northwest", "西北"),
];

/// Where places lie.
pub(crate) static LANDS: [Word; 8] = [
    plain("in a green valley", "绿色的山谷里"),
    plain("at the foot of the mountains", "大山脚下"),
    plain("on the coast", "海岸边"),
    plain("by a lake", "湖边"),
    plain("on a wide plain", "辽阔的平原上"),
    plain("at the edge of a forest", "森林边"),
    plain("on a steep hill", "陡峭的山坡上"),
    plain("in the middle of a marsh", "沼泽中"),
];

/// What places are proud of.
pub(crate) static LANDMARKS: [Word; 12] = [
    count("stone bridge", "座", "石桥"),
    count("lighthouse", "座", "灯塔"),
    count("bell tower", "座", "钟楼"),
    count("windmill", "座", "风车"),
    count("castle", "座", "城堡"),
    count("watermill", "座", "水车"),
    count("monastery", "座", "修道院"),
    count("pagoda", "座", "宝塔"),
    count("town wall", "道", "城墙"),
    count("clock tower", "座", "塔楼"),
    count("theatre", "座", "剧院"),
    count("library", "座", "图书馆"),
];

/// Units that numbers carry: `{n.coins}` in a template is "three coins", 三枚铜币.
pub(crate) static UNITS: [(&str, Word); 10] = [
    ("coins", count("coin", "枚", "铜币")),
    ("hours", count("hour", "个", "小时")),
    ("minutes", count("minute", "", "分钟")),
    ("days", count("day", "", "天")),
    ("weeks", count("week", "个", "星期")),
    ("years", count("year", "", "年")),
    ("miles", count("mile", "", "里")),
    ("people", count("person", "个", "人")),
    ("degrees", count("degree", "", "度")),
    ("tiles", count("tile", "块", "瓦")),
];
