//! The parts that names are built from: syllables in English, characters in Chinese.

use crate::world::word::{Word, plain};

/// How given names begin.
pub(crate) const GIVEN_STARTS: [&str; 32] = [
    "Mar", "Tov", "El", "Bran", "Kes", "Or", "Lin", "Fen", "Dor", "Sel", "Cor", "Nad", "Rov", "Jas", "Mil",
    "Har", "Vel", "Ter", "Il", "Per", "Sim", "Gal", "Ros", "Ald", "Bel", "Wil", "Ven", "Tam", "Lor", "Od",
    "Cas", "Ham",
];

/// How women's given names end.
pub(crate) const GIVEN_FEMALE_ENDS: [&str; 12] =
    ["a", "ina", "elle", "ara", "ima", "issa", "ora", "ette", "una", "enna", "ia", "eth"];

/// How men's given names end.
pub(crate) const GIVEN_MALE_ENDS: [&str; 12] =
    ["an", "ric", "o", "in", "as", "bert", "us", "mund", "ek", "win", "or", "ald"];

/// How family names begin.
pub(crate) const FAMILY_STARTS: [&str; 24] = [
    "Ash", "Thorn", "Miller", "Wood", "Stone", "Berry", "Copper", "Winter", "Apple", "Gold", "Swan", "Hazel",
    "Fox", "Harper", "Oak", "Silver", "Raven", "Cotter", "Bram", "Hollow", "Pepper", "Linden", "Barley",
    "Finch",
];

/// How family names end.
pub(crate) const FAMILY_ENDS: [&str; 10] =
    ["man", "ley", "more", "field", "wright", "son", "worth", "by", "combe", "ward"];

/// How places' names begin; each belongs to one place.
pub(crate) const PLACE_STARTS: [(&str, &str); 36] = [
    ("Oak", "柳"),
    ("Tarn", "青"),
    ("Vel", "云"),
    ("Bright", "明"),
    ("Kings", "龙"),
    ("Fen", "芦"),
    ("Sal", "白"),
    ("North", "北"),
    ("Amber", "金"),
    ("Dun", "石"),
    ("Elder", "松"),
    ("Red", "红"),
    ("Moon", "月"),
    ("Crane", "鹤"),
    ("Plum", "梅"),
    ("Bam", "竹"),
    ("Peach", "桃"),
    ("Iron", "铁"),
    ("Pearl", "珠"),
    ("Swallow", "燕"),
    ("Wester", "西"),
    ("Star", "星"),
    ("Snow", "雪"),
    ("Otter", "獭"),
    ("Hart", "鹿"),
    ("Mist", "雾"),
    ("Lotus", "莲"),
    ("Jade", "玉"),
    ("Mor", "墨"),
    ("Clay", "陶"),
    ("Gar", "蓝"),
    ("Sun", "阳"),
    ("Drum", "鼓"),
    ("Orchid", "兰"),
    ("Cold", "寒"),
    ("Long", "长"),
];

/// How places' names end.
pub(crate) const PLACE_ENDS: [(&str, &str); 12] = [
    ("haven", "湾"),
    ("bridge", "桥"),
    ("dale", "谷"),
    ("ford", "渡"),
    ("wick", "塘"),
    ("mere", "湖"),
    ("ridge", "岭"),
    ("well", "泉"),
    ("brook", "溪"),
    ("stead", "庄"),
    ("grove", "林"),
    ("cliff", "崖"),
];

/// Chinese family names.
pub(crate) const HAN_SURNAMES: [&str; 36] = [
    "林", "王", "李", "张", "刘", "陈", "杨", "赵", "黄", "周", "吴", "徐", "孙", "胡", "朱", "高", "何",
    "郭", "马", "罗", "梁", "宋", "郑", "谢", "韩", "唐", "冯", "董", "萧", "程", "曹", "袁", "邓", "许",
    "沈", "苏",
];

/// First characters of Chinese given names; an empty one makes a name of two characters.
pub(crate) const HAN_FIRST: [&str; 16] =
    ["小", "晓", "文", "志", "春", "秋", "子", "思", "景", "永", "嘉", "一", "若", "天", "世", ""];

/// Last characters of women's given names.
pub(crate) const HAN_FEMALE: [&str; 24] = [
    "雨", "兰", "梅", "芳", "雪", "婷", "秀", "莲", "燕", "琴", "霞", "玲", "娟", "英", "萍", "蓉", "茜",
    "薇", "瑶", "倩", "慧", "丽", "珍", "娜",
];

/// Last characters of men's given names.
pub(crate) const HAN_MALE: [&str; 24] = [
    "强", "刚", "军", "勇", "涛", "波", "鹏", "辉", "亮", "杰", "斌", "伟", "峰", "林", "松", "柏", "龙",
    "飞", "宇", "航", "诚", "毅", "磊", "超",
];

/// The rivers.
pub(crate) static RIVERS: [Word; 8] = [
    plain("Tessel", "清水河"),
    plain("Arrow", "箭河"),
    plain("Morva", "墨河"),
    plain("Silverrun", "银沙河"),
    plain("Lunde", "月牙河"),
    plain("Brannock", "黑石河"),
    plain("Wenda", "弯弯河"),
    plain("Isket", "冰河"),
];

/// The regions, by quarter of the map: northwest, northeast, southwest, southeast.
pub(crate) static REGIONS: [Word; 4] = [
    plain("the Highmark", "高原州"),
    plain("the Greywood", "灰林州"),
    plain("the Vineland", "葡萄州"),
    plain("the Saltshore", "盐海州"),
];
