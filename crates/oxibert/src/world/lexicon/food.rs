//! What people eat, cook, grow and trade.

use crate::world::word::{Word, count, mass, plain, spot};

/// Something to eat or drink that people bring each other.
#[derive(Debug)]
pub(crate) struct Food {
    /// Its word.
    pub(crate) word: Word,
    /// How it tastes when it is good.
    pub(crate) good: Word,
    /// How it tastes when it is bad: the opposite.
    pub(crate) bad: Word,
}

const fn food(word: Word, good: Word, bad: Word) -> Food {
    Food { word, good, bad }
}

/// Gifts for a table.
#[rustfmt::skip]
pub(crate) static FOODS: [Food; 20] = [
    food(mass("loaf", "bread", "个", "面包"), plain("fresh", "新鲜"), plain("stale", "不新鲜")),
    food(mass("piece", "cheese", "块", "奶酪"), plain("mild", "柔和"), plain("sharp", "刺鼻")),
    food(mass("basket", "apples", "篮", "苹果"), plain("crisp", "脆"), plain("mushy", "烂")),
    food(mass("basket", "pears", "篮", "梨"), plain("juicy", "鲜嫩"), plain("dry", "干")),
    food(mass("basket", "plums", "篮", "李子"), plain("ripe", "熟"), plain("unripe", "生")),
    food(mass("bowl", "cherries", "碗", "樱桃"), plain("sweet", "甜"), plain("sour", "酸")),
    food(mass("bunch", "grapes", "串", "葡萄"), plain("sweet", "甜"), plain("sour", "酸")),
    food(mass("basket", "eggs", "篮", "鸡蛋"), plain("fresh", "新鲜"), plain("rotten", "变质")),
    food(mass("jar", "honey", "罐", "蜂蜜"), plain("sweet", "甜"), plain("bitter", "苦")),
    food(mass("jug", "milk", "壶", "牛奶"), plain("fresh", "新鲜"), plain("sour", "酸")),
    food(mass("pot", "tea", "壶", "茶"), plain("hot", "热"), plain("cold", "凉")),
    food(mass("bowl", "soup", "碗", "汤"), plain("hot", "热"), plain("cold", "凉")),
    food(count("cake", "块", "蛋糕"), plain("soft", "松软"), plain("dry", "干硬")),
    food(count("pumpkin pie", "个", "南瓜饼"), plain("tasty", "好吃"), plain("burnt", "焦")),
    food(mass("plate", "dumplings", "盘", "饺子"), plain("hot", "热"), plain("cold", "凉")),
    food(mass("bowl", "noodles", "碗", "面条"), plain("tasty", "好吃"), plain("salty", "咸")),
    food(mass("pot", "jam", "罐", "果酱"), plain("sweet", "甜"), plain("bitter", "苦")),
    food(mass("bag", "walnuts", "袋", "核桃"), plain("crunchy", "脆"), plain("soft", "软")),
    food(mass("basket", "mushrooms", "篮", "蘑菇"), plain("fresh", "新鲜"), plain("rotten", "腐烂")),
    food(mass("box", "biscuits", "盒", "饼干"), plain("crisp", "脆"), plain("soggy", "发潮")),
];

/// A good with a market price, by the unit.
#[derive(Debug)]
pub(crate) struct Good {
    /// Its word.
    pub(crate) word: Word,
    /// Its usual price.
    pub(crate) price: u32,
}

const fn good(price: u32, word: Word) -> Good {
    Good { word, price }
}

/// What is traded on markets.
#[rustfmt::skip]
pub(crate) static GOODS: [Good; 24] = [
    good(9, mass("sack", "wheat", "袋", "小麦")),
    good(11, mass("sack", "flour", "袋", "面粉")),
    good(12, mass("sack", "rice", "袋", "大米")),
    good(7, mass("sack", "potatoes", "袋", "土豆")),
    good(6, mass("sack", "onions", "袋", "洋葱")),
    good(6, mass("sack", "carrots", "袋", "胡萝卜")),
    good(8, mass("sack", "beans", "袋", "豆子")),
    good(5, mass("bag", "salt", "包", "盐")),
    good(9, mass("bag", "sugar", "包", "糖")),
    good(8, mass("jar", "honey", "罐", "蜂蜜")),
    good(7, mass("piece", "butter", "块", "黄油")),
    good(6, mass("wheel", "cheese", "块", "奶酪")),
    good(4, mass("jug", "milk", "壶", "牛奶")),
    good(8, mass("packet", "tea", "包", "茶叶")),
    good(5, mass("basket", "apples", "筐", "苹果")),
    good(7, mass("basket", "peaches", "筐", "桃子")),
    good(9, mass("basket", "eggs", "筐", "鸡蛋")),
    good(10, mass("barrel", "herring", "桶", "鲱鱼")),
    good(10, mass("bundle", "wool", "捆", "羊毛")),
    good(4, mass("bundle", "firewood", "捆", "柴火")),
    good(16, mass("roll", "silk", "匹", "丝绸")),
    good(11, mass("roll", "linen", "匹", "麻布")),
    good(7, mass("bottle", "oil", "瓶", "油")),
    good(5, mass("box", "candles", "盒", "蜡烛")),
];

/// A dish and how it is made.
#[derive(Debug)]
pub(crate) struct Dish {
    /// Its word.
    pub(crate) word: Word,
    /// Three ingredients, in the order of use.
    pub(crate) parts: [Word; 3],
    /// What gives it taste.
    pub(crate) spice: Word,
    /// What it is cooked in.
    pub(crate) vessel: Word,
    /// How it is cooked: a verb.
    pub(crate) method: Word,
    /// How it tastes.
    pub(crate) taste: Word,
}

const fn dish(word: Word, parts: [Word; 3], spice: Word, vessel: Word, method: Word, taste: Word) -> Dish {
    Dish { word, parts, spice, vessel, method, taste }
}

impl Dish {
    /// The shortest and the longest time on the fire, in steps of five minutes: a pan is quick.
    pub(crate) fn time(&self) -> (u32, u32) {
        if self.vessel == pan() { (2, 4) } else { (6, 16) }
    }
}

const fn pot() -> Word {
    spot("in", "pot", "锅", "里")
}
const fn pan() -> Word {
    spot("in", "pan", "平底锅", "里")
}
const fn oven() -> Word {
    spot("in", "oven", "烤炉", "里")
}
const fn steamer() -> Word {
    spot("in", "steamer", "蒸笼", "里")
}

/// The dishes of the world.
#[rustfmt::skip]
pub(crate) static DISHES: [Dish; 16] = [
    dish(plain("onion soup", "洋葱汤"), [plain("onions", "洋葱"), plain("butter", "黄油"), plain("bread", "面包")],
        plain("salt", "盐"), pot(), plain("boil", "煮"), plain("sweet", "甜")),
    dish(plain("fish soup", "鱼汤"), [plain("trout", "鳟鱼"), plain("tofu", "豆腐"), plain("ginger", "生姜")],
        plain("salt", "盐"), pot(), plain("boil", "煮"), plain("fresh", "鲜")),
    dish(plain("pumpkin soup", "南瓜汤"), [plain("pumpkin", "南瓜"), plain("milk", "牛奶"), plain("butter", "黄油")],
        plain("pepper", "胡椒"), pot(), plain("boil", "煮"), plain("mild", "香甜")),
    dish(plain("mushroom stew", "炖蘑菇"), [plain("mushrooms", "蘑菇"), plain("potatoes", "土豆"), plain("onions", "洋葱")],
        plain("pepper", "胡椒"), pot(), plain("stew", "炖"), plain("rich", "浓郁")),
    dish(plain("beef stew", "炖牛肉"), [plain("beef", "牛肉"), plain("carrots", "胡萝卜"), plain("potatoes", "土豆")],
        plain("bay leaf", "香叶"), pot(), plain("stew", "炖"), plain("rich", "浓郁")),
    dish(plain("bean stew", "炖豆子"), [plain("beans", "豆子"), plain("tomatoes", "西红柿"), plain("garlic", "大蒜")],
        plain("chilli", "辣椒"), pot(), plain("stew", "炖"), plain("spicy", "辣")),
    dish(plain("apple pie", "苹果派"), [plain("flour", "面粉"), plain("butter", "黄油"), plain("apples", "苹果")],
        plain("cinnamon", "肉桂"), oven(), plain("bake", "烤"), plain("sweet", "甜")),
    dish(plain("honey cake", "蜂蜜蛋糕"), [plain("flour", "面粉"), plain("eggs", "鸡蛋"), plain("honey", "蜂蜜")],
        plain("cinnamon", "肉桂"), oven(), plain("bake", "烤"), plain("sweet", "甜")),
    dish(plain("walnut bread", "核桃面包"), [plain("flour", "面粉"), plain("yeast", "酵母"), plain("walnuts", "核桃")],
        plain("salt", "盐"), oven(), plain("bake", "烤"), plain("crunchy", "香脆")),
    dish(plain("roast potatoes", "烤土豆"), [plain("potatoes", "土豆"), plain("oil", "油"), plain("garlic", "大蒜")],
        plain("rosemary", "迷迭香"), oven(), plain("roast", "烤"), plain("crisp", "香脆")),
    dish(plain("fried rice", "炒饭"), [plain("rice", "米饭"), plain("eggs", "鸡蛋"), plain("spring onions", "葱")],
        plain("soy sauce", "酱油"), pan(), plain("fry", "炒"), plain("salty", "咸香")),
    dish(plain("fried noodles", "炒面"), [plain("noodles", "面条"), plain("cabbage", "白菜"), plain("carrots", "胡萝卜")],
        plain("soy sauce", "酱油"), pan(), plain("fry", "炒"), plain("salty", "咸香")),
    dish(plain("tomato omelette", "西红柿炒蛋"), [plain("tomatoes", "西红柿"), plain("eggs", "鸡蛋"), plain("oil", "油")],
        plain("sugar", "糖"), pan(), plain("fry", "炒"), plain("sour", "酸甜")),
    dish(plain("steamed dumplings", "蒸饺"), [plain("flour", "面粉"), plain("pork", "猪肉"), plain("cabbage", "白菜")],
        plain("vinegar", "醋"), steamer(), plain("steam", "蒸"), plain("juicy", "鲜美")),
    dish(plain("steamed buns", "馒头"), [plain("flour", "面粉"), plain("yeast", "酵母"), plain("milk", "牛奶")],
        plain("sugar", "糖"), steamer(), plain("steam", "蒸"), plain("soft", "松软")),
    dish(plain("steamed fish", "清蒸鱼"), [plain("trout", "鳟鱼"), plain("ginger", "生姜"), plain("spring onions", "葱")],
        plain("soy sauce", "酱油"), steamer(), plain("steam", "蒸"), plain("fresh", "鲜")),
];

/// Something that grows in a garden.
#[derive(Debug)]
pub(crate) struct Crop {
    /// Its word, a plural or a mass in English.
    pub(crate) word: Word,
    /// The season of sowing, as an index of the seasons.
    pub(crate) sown: usize,
    /// Weeks until the harvest.
    pub(crate) weeks: u32,
    /// What the ripe fruit looks like.
    pub(crate) ripe: Word,
    /// What threatens it.
    pub(crate) pest: Word,
}

const fn crop(word: Word, sown: usize, weeks: u32, ripe: Word, pest: Word) -> Crop {
    Crop { word, sown, weeks, ripe, pest }
}

/// What gardens grow. Seasons: 0 spring, 1 summer, 2 autumn.
#[rustfmt::skip]
pub(crate) static CROPS: [Crop; 12] = [
    crop(plain("tomatoes", "西红柿"), 0, 16, plain("red", "红"), plain("snails", "蜗牛")),
    crop(plain("cucumbers", "黄瓜"), 0, 10, plain("green", "绿"), plain("snails", "蜗牛")),
    crop(plain("pumpkins", "南瓜"), 0, 18, plain("orange", "橙黄"), plain("beetles", "甲虫")),
    crop(plain("sunflowers", "向日葵"), 0, 14, plain("golden", "金黄"), plain("sparrows", "麻雀")),
    crop(plain("peas", "豌豆"), 0, 12, plain("green", "绿"), plain("crows", "乌鸦")),
    crop(plain("beans", "豆角"), 0, 11, plain("green", "绿"), plain("beetles", "甲虫")),
    crop(plain("lettuces", "生菜"), 1, 7, plain("green", "绿"), plain("rabbits", "兔子")),
    crop(plain("carrots", "胡萝卜"), 1, 12, plain("orange", "橙红"), plain("rabbits", "兔子")),
    crop(plain("cabbages", "白菜"), 1, 13, plain("pale green", "嫩绿"), plain("caterpillars", "毛毛虫")),
    crop(plain("radishes", "萝卜"), 1, 6, plain("white", "白"), plain("mice", "老鼠")),
    crop(plain("leeks", "大葱"), 2, 30, plain("white", "白"), plain("mice", "老鼠")),
    crop(plain("turnips", "大头菜"), 2, 11, plain("purple", "紫"), plain("caterpillars", "毛毛虫")),
];
