//! A weather chronicle: some days in a row, each with its weather, warmth and consequences.

use crate::world::event::{Event, Frame, frame};
use crate::world::lexicon::{DIRECTIONS, MONTHS, SEASONS, WEATHERS, WEEKDAYS};
use crate::world::scene::{Scene, Story, event};
use crate::world::word::Word;

static TITLE: Frame = frame(
    &["the weather in {place} in {month}", "a {season} week in {place}", "{place}, a weather chronicle"],
    &["{place}{month}的天气", "{place}{season}的一周", "{place}天气记录"],
);
static OPENING: Frame = frame(
    &[
        "this is the weather of {place} for {n.days} in {month}.",
        "{who} wrote down the weather of {place} for {n.days}, as {who.he} did every {season}.",
        "the {season} of that year was unusual in {place}, and {who} kept a record for {n.days}.",
    ],
    &[
        "这是{place}{month}里{n.days}的天气。",
        "{who}记下了{place}{n.days}的天气，{who.he}每年{season}都这样做。",
        "那年{place}的{season}很不寻常，{who}记录了{n.days}。",
    ],
);

/// What each weather is like, in the order of [`WEATHERS`].
static DAYS: [Frame; 9] = [
    frame(
        &[
            "{day} was sunny and bright, with a blue sky above the {river} [and {t.degrees}|and the {landmark}|and the {colour} roofs].",
            "on {day} the sun shone [on the {landmark}|on the {river}|on {place}] from morning to evening, and there was not a cloud in the sky.",
            "{day} brought bright sunshine, and the thermometer [at the {landmark}|in {place}|by the {river}] showed {t.degrees}.",
            "the sky over {place}[ and the {river}| and the {landmark}|] was clear on {day}, and it was {t.degrees} warm.",
        ],
        &[
            "{day}天气晴朗，{river}[和{landmark}|和{colour}的屋顶|]上空一片蔚蓝。",
            "{day}太阳从早到晚照着[{landmark}|{river}|{place}]，天上没有一丝云。",
            "{day}阳光明媚，[{landmark}上|{place}|{river}边]的温度计显示{t.degrees}。",
            "{day}{place}[和{river}|和{landmark}|]上空晴朗，气温{t.degrees}。",
        ],
    ),
    frame(
        &[
            "on {day} it rained [all day|from dawn to dusk|without a break], and the {river} rose [by a foot|to the {landmark}|to the first houses of {place}].",
            "{day} was wet: the rain fell on the {colour} roofs of {place}.",
            "{day} brought heavy rain [from the {wind}|to {place}|to the {river}] and only {t.degrees}.",
            "dark rain clouds hung over {place} on {day}, and everyone [at the {landmark}|by the {river}|in the streets] carried an umbrella.",
        ],
        &[
            "{day}[整天|从早到晚|不停地]下雨，{river}的水涨[了一尺|到了{landmark}旁边|到了{place}的房子边]。",
            "{day}到处湿漉漉的，雨点打在{place}{colour}的屋顶上。",
            "{day}[{wind}边来了|{place}下了|{river}上下了]大雨，气温只有{t.degrees}。",
            "{day}乌云笼罩着{place}，[{landmark}旁|{river}边|街上]人人都打着雨伞。",
        ],
    ),
    frame(
        &[
            "thick fog lay over the {river} on {day}, and nobody could see [the other bank|the {landmark}|the {colour} roofs of {place}].",
            "{day} was foggy, so [at noon|in the morning|all day] the {landmark} of {place} was invisible.",
            "on {day} the fog was so thick that lamps burned at noon [in {place}|along the {river}|around the {landmark}].",
            "{day} began with fog [on the {river}|around the {landmark}], and at {t.degrees} it did not lift before noon.",
        ],
        &[
            "{day}{river}上大雾弥漫，谁也看不见[对岸|{landmark}|{place}{colour}的屋顶]。",
            "{day}有雾，[中午|早上|整天]{place}的{landmark}都看不见了。",
            "{day}雾浓得[{place}|{river}两岸|{landmark}周围]中午还要点灯。",
            "{day}一早[{river}上|{landmark}周围]就起了雾，气温{t.degrees}，到中午才散去。",
        ],
    ),
    frame(
        &[
            "on {day} a thunderstorm broke over {place}, with lightning above the {landmark}.",
            "{day} was stormy: thunder rolled, and hail fell on the fields by the {river}.",
            "lightning struck an old tree near [{place}|the {landmark}|the {river}] on {day}, but nobody was hurt.",
            "after {day}'s thunderstorm it was only {t.degrees}, and the streets [of {place}|by the {river}|around the {landmark}] were full of leaves.",
        ],
        &[
            "{day}{place}下了一场雷雨，闪电划过{landmark}上空。",
            "{day}雷声隆隆，冰雹落在{river}边的田野上。",
            "{day}闪电击中了[{place}|{landmark}|{river}]附近的一棵老树，好在没有人受伤。",
            "{day}的雷雨过后，气温只有{t.degrees}，[{place}街上|{river}边|{landmark}周围]满是落叶。",
        ],
    ),
    frame(
        &[
            "a strong wind blew from the {wind} [over the {river}|over {place}] on {day} and carried away [a few|{t}] hats.",
            "{day} was so windy that no [boat|ferry|raft] left the {wind} bank of the {river}.",
            "on {day} the {wind} wind shook the shutters of {place}.",
            "with {t.degrees} and a sharp {wind} wind, {day} was unpleasant.",
        ],
        &[
            "{day}[{river}上|{place}]刮起了{wind}风，吹跑了[好几|{t.of}]顶帽子。",
            "{day}风太大，{river}{wind}岸没有一条[小船|渡船|木船]离岸。",
            "{day}{wind}风吹得{place}的百叶窗哗哗作响。",
            "{day}气温{t.degrees}，{wind}风刺骨，让人很不舒服。",
        ],
    ),
    frame(
        &[
            "{day} was cloudy but dry [in {place}|on the {river}], with {t.degrees} at noon.",
            "on {day} grey clouds hid the sun [until noon|until evening|from {place}|and the {landmark}], yet not a drop of rain fell on the {river}.",
            "[grey|low|heavy|white] clouds covered the sky above the {river} [and the {landmark}|and {place}] on {day}.",
            "{day} in {place} was grey and quiet, neither warm nor cold [for {month}|for {season}].",
        ],
        &[
            "{day}[{place}|{river}上]多云，但没有下雨，中午气温{t.degrees}。",
            "{day}灰云[到中午都|到傍晚都|在{place}上空|在{landmark}上空]遮住了太阳，{river}上却一滴雨也没下。",
            "{day}{river}[和{landmark}|和{place}]上空布满了[灰|低|厚厚的|白]云。",
            "{day}{place}天色阴沉，[以{month}来说|以{season}来说]不冷也不热。",
        ],
    ),
    frame(
        &[
            "{day} was hot, {t.degrees} in the shade, and the dogs of {place} slept all day.",
            "on {day} the heat was so great that the children [of {place}|and the dogs|and even the old] swam in the {river}.",
            "the heat of {day} dried up two wells in {place}.",
            "nobody worked in the fields [of {place}|along the {river}] on {day}, because it was {t.degrees} hot.",
        ],
        &[
            "{day}十分炎热，树荫下也有{t.degrees}，{place}的狗睡了一整天。",
            "{day}热得[{place}的孩子们|孩子和狗|连老人]都到{river}里游泳。",
            "{day}的高温晒干了{place}的两口水井。",
            "{day}[{place}|{river}边]没有人下地干活，因为气温高达{t.degrees}。",
        ],
    ),
    frame(
        &[
            "on {day} snow fell on {place}, and by evening it was a foot deep.",
            "{day} was snowy, and the children of {place} built a snowman near the {landmark}.",
            "{day}'s snow covered the {colour} roofs [of {place}|by the {river}|and the {landmark}], and everything was white.",
            "it snowed on {day}, and the road along the {river} [to {place}|past the {landmark}|in the {wind}] was closed.",
        ],
        &[
            "{day}{place}下了雪，到傍晚积雪已有一尺深。",
            "{day}下雪了，{place}的孩子们在{landmark}旁边堆了个雪人。",
            "{day}的雪盖住了[{place}|{river}边|{landmark}旁]{colour}的屋顶，到处一片洁白。",
            "{day}下了雪，{river}边[去{place}|过{landmark}|往{wind}]的路不能走了。",
        ],
    ),
    frame(
        &[
            "on {day} the {river} froze, and people walked across the ice [to {place}|near the {landmark}].",
            "{day} was frosty and clear, and the water froze in the buckets of {place}.",
            "hard frost came on {day}, and ice flowers grew on the windows of {place}.",
            "it was so cold on {day} that the fountain of {place} turned to ice.",
        ],
        &[
            "{day}{river}结了冰，人们从冰上走[到{place}|过{landmark}]。",
            "{day}天寒地冻，{place}家家户户水桶里的水都结了冰。",
            "{day}来了严霜，{place}的窗户上开满了冰花。",
            "{day}冷极了，{place}的喷泉变成了冰柱。",
        ],
    ),
];
static WARMER: Frame = frame(
    &[
        "[in {place}|by the {river}|at the {landmark}] it was {d.degrees} warmer than on {before}.",
        "compared with {before}, the air [above the {river}|in {place}|at {who.s} house] was {d.degrees} warmer.",
        "{who} took off {who.his} coat, for it was {d.degrees} warmer than on {before}.",
    ],
    &[
        "[{place}|{river}边|{landmark}旁]比{before}暖和了{d.degrees}。",
        "和{before}相比，[{river}上|{place}|{who}家]的气温升高了{d.degrees}。",
        "{who}脱下了外套，因为比{before}暖和了{d.degrees}。",
    ],
);
static COLDER: Frame = frame(
    &[
        "[in {place}|by the {river}|at the {landmark}] it was {d.degrees} colder than on {before}.",
        "compared with {before}, the air [above the {river}|in {place}|at {who.s} house] was {d.degrees} colder.",
        "{who} put on {who.his} coat, for it was {d.degrees} colder than on {before}.",
    ],
    &[
        "[{place}|{river}边|{landmark}旁]比{before}冷了{d.degrees}。",
        "和{before}相比，[{river}上|{place}|{who}家]的气温下降了{d.degrees}。",
        "{who}穿上了外套，因为比{before}冷了{d.degrees}。",
    ],
);
static SAME: Frame = frame(
    &[
        "so the weather [of {place}|on the {river}] stayed as it had been on {before}, [and {who} was not surprised|as {who} had said].",
        "nothing had changed since {before}, and {who} [only nodded|wrote \"the same again\"].",
    ],
    &[
        "[{place}|{river}上]的天气和{before}一样，[{who}并不觉得奇怪|正像{who}说的那样]。",
        "从{before}起天气就没有变过，{who}[只是点了点头|写下了“照旧”两个字]。",
    ],
);
static WORK: Frame = frame(
    &[
        "because of the {noun}, {who} [stayed at home|did not work] and could not {work}.",
        "in spite of the {noun}, {who} {work.past} {spot.at}.",
        "{who} looked at the sky and went to {spot.the} to {work}.",
        "the {noun} did not stop {who.obj}, who {work.past} as usual.",
    ],
    &[
        "因为{noun}，{who}[待在家里|没有出门]，没法{work}。",
        "尽管有{noun}，{who}还是在{spot.at}{work}。",
        "{who}看了看天，到{spot}{work}去了。",
        "{noun}没有挡住{who}，{who.he}照常{work}。",
    ],
);
static FINE: Frame = frame(
    &[
        "it was good weather for work, so {who} {work.past} {spot.at}.",
        "{who} went to {spot.the} to {work}, and [everything went well|the work was easy].",
        "{who.name}, the {job}, {work.past} {spot.at} and was glad of the dry air.",
    ],
    &[
        "这样的天气正好干活，{who}在{spot.at}{work}。",
        "{who}到{spot}去{work}，[一切顺利|活儿很轻松]。",
        "天气干爽，{job}{who.name}高高兴兴地在{spot.at}{work}。",
    ],
);
static CLOSING: Frame = frame(
    &[
        "the warmest day of all in {place} was {warm}, and the coldest was {cold}[, as {who.s} notes say| by the {river}|, at least at the {landmark}].",
        "{who} noted that {warm} had been the warmest day and {cold} the coldest [in {place}|by the {river}|of these {n.days}].",
        "so ended {n.days} of {season} in {place}, with {cold} as the coldest and {warm} as the warmest day.",
    ],
    &[
        "[{who}记下的|{river}边|{landmark}旁]{place}最暖和的一天是{warm}，最冷的一天是{cold}。",
        "{who}写道，[{place}|{river}边|这{n.days}里]{warm}最暖和，{cold}最冷。",
        "{place}{season}的这{n.days}就这样过去了，{cold}最冷，{warm}最暖和。",
    ],
);

/// Usual warmth of the seasons in degrees, from spring on. Only snow and frost fall below zero, and they say no
/// degrees.
const USUAL: [i32; 4] = [14, 24, 13, 5];

/// The index of heat, the one warm weather that is bad for work.
const HEAT: usize = 6;

/// A month of the scene's season.
pub(crate) fn month(scene: &mut Scene<'_>) -> &'static Word {
    let season = SEASONS.iter().position(|season| std::ptr::eq(season, scene.season)).unwrap_or(0);
    &MONTHS[3 * season + scene.random.below(3) as usize]
}

/// One day of the record.
#[derive(Clone, Copy)]
struct Day {
    name: &'static Word,
    weather: usize,
    degrees: i32,
}

/// A chronicle.
pub(crate) fn story(mut scene: Scene<'_>) -> Story {
    let month = month(&mut scene);
    let days = record(&mut scene);
    let about = |scene: &Scene<'_>, frame| {
        let place = scene.facts.place(scene.place);
        let base = event(frame).with("place", scene.place).with("month", month).with("n", days.len() as u32);
        let base =
            base.with("river", place.river).with("landmark", place.landmark).with("colour", place.roofs);
        base.with("who", scene.cast[0]).with("season", &scene.season.word)
    };
    let opening = about(&scene, &OPENING);
    scene.tell(opening);
    // Work has only so many words: a fourth time would be a sentence again.
    let mut worked = 0;
    for (index, day) in days.iter().enumerate() {
        let wind = scene.random.pick(&DIRECTIONS);
        let weather = about(&scene, &DAYS[day.weather]).with("day", day.name).with("wind", wind);
        scene.tell(weather.with("t", day.degrees.max(0) as u32));
        if index > 0 && scene.random.chance(0.7) {
            compare(&mut scene, day, &days[index - 1], &about);
        }
        if worked < 3 && scene.random.chance(0.45) {
            work(&mut scene, day.weather);
            worked += 1;
        }
    }
    if let (Some(warm), Some(cold)) = (extreme(&days, 1), extreme(&days, -1)) {
        let closing = about(&scene, &CLOSING).with("warm", warm).with("cold", cold);
        scene.tell(closing);
    }
    let title = about(&scene, &TITLE);
    scene.finish(title)
}

/// Some days in a row.
fn record(scene: &mut Scene<'_>) -> Vec<Day> {
    let season = SEASONS.iter().position(|season| std::ptr::eq(season, scene.season)).unwrap_or(0);
    let length = scene.random.between(5, 7) as usize;
    let first = scene.random.below(7) as usize;
    let mut day = |index: usize| {
        let weather = *scene.random.pick(scene.season.weathers);
        let degrees = USUAL[season] + WEATHERS[weather].warmth + scene.random.between(0, 3) as i32;
        Day { name: &WEEKDAYS[index % 7], weather, degrees }
    };
    (first..first + length).map(&mut day).collect()
}

/// The warmest (`sign` 1) or coldest (-1) day, if there is only one.
fn extreme(days: &[Day], sign: i32) -> Option<&'static Word> {
    let most = days.iter().map(|day| sign * day.degrees).max()?;
    let mut found = days.iter().filter(|day| sign * day.degrees == most);
    found.next().filter(|_| found.next().is_none()).map(|day| day.name)
}

/// Compares a day with the one before, where there is something to say.
fn compare(
    scene: &mut Scene<'_>,
    day: &Day,
    before: &Day,
    about: &dyn Fn(&Scene<'_>, &'static Frame) -> Event,
) {
    let change = day.degrees - before.degrees;
    let frame = match change {
        2.. => &WARMER,
        ..=-2 => &COLDER,
        _ if day.weather == before.weather => &SAME,
        _ => return,
    };
    let compared = about(scene, frame).with("before", before.name).with("d", change.unsigned_abs());
    scene.tell(compared);
}

fn work(scene: &mut Scene<'_>, weather: usize) {
    let who = scene.hero();
    let job = scene.facts.person(who).job;
    let frame = if WEATHERS[weather].warmth >= 0 && weather != HEAT { &FINE } else { &WORK };
    let about = event(frame).with("who", who).with("work", &job.work).with("spot", &job.place);
    let about = about.with("job", &job.name);
    scene.tell(about.with("noun", &WEATHERS[weather].noun));
}
