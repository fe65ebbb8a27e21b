//! A letter: the plots of a day, told by the one to whom they happened.

use crate::world::discourse::Perspective;
use crate::world::event::{Frame, frame};
use crate::world::facts::{NOW, PersonId};
use crate::world::plots;
use crate::world::scene::{Scene, Story, event};

static TITLE: Frame = frame(
    &["a letter from {who.full} to {reader.full}", "a letter from {place}"],
    &["{who.full}写给{reader.full}的信", "来自{place}的信"],
);
static GREETING: Frame = frame(
    &[
        "dear {reader.call}, thank you for your letter from {far}, which reached {place} [yesterday|this morning|last night|after {n.weeks}|at last].",
        "dear {reader.call}, how are you, [how are the children|how is {fam.call}|how is your {pet}], and how is life in {far} this {weather} {season}?",
        "my dear {reader.call}, I have not heard from you for {n.weeks}, so I am writing from {place}.",
        "dear {reader.call}, I hope that you, [{fam.call}|the children] and your {pet} are well after this {weather} [week|month|{season}].",
    ],
    &[
        "亲爱的{reader.call}，谢谢你从{far}寄来的信，[昨天|今天早上|昨天夜里|过了{n.weeks}|终于]寄到了{place}。",
        "亲爱的{reader.call}，你好吗，[孩子们|{fam.call}|你的{pet}]好吗，这个{season}天气{weather}，{far}的生活怎么样？",
        "亲爱的{reader.call}，已经{n.weeks}没有你的消息了，所以我从{place}给你写信。",
        "亲爱的{reader.call}，[这个星期|这个月|这个{season}]天气{weather}，希望你、[{fam.call}|孩子们]和你的{pet}一切都好。",
    ],
);
static ADDRESS: Frame = frame(
    &[
        "just imagine, {reader.call}, ",
        "you know, {reader.call}, ",
        "believe me, {reader.call}, ",
        "as you can imagine, {reader.call}, ",
        "to tell you the truth, {reader.call}, ",
    ],
    &[
        "{reader.call}，你想想看，",
        "你知道吗，{reader.call}，",
        "{reader.call}，你相信吗，",
        "说真的，{reader.call}，",
        "{reader.call}，跟你说，",
    ],
);
static NEWS: Frame = frame(
    &[
        "here in {place} it is {season}, the weather is {weather}, and I {work} [every day|as always|from morning to night].",
        "I still work as a {job} in {place}, and [this {season}|since {day}|as always] I {work} every day.",
        "let me tell you what happened [{spot.at}|to me|to us all] here in {place} this {weather} {season}.",
        "you will laugh when you hear what happened to me {spot.at} in {place} last {day}[, {reader.call}| before noon| after sunset].",
    ],
    &[
        "{place}现在是{season}，天气{weather}，我[每天都|照常|从早到晚都]{work}。",
        "我还在{place}当{job}，[这个{season}|从{day}起|像往常一样]每天都{work}。",
        "让我告诉你，在这个{weather}的{season}，{place}的[{spot.at}|我家|人们当中]发生了什么。",
        "上个{day}[|中午以前|日落以后]我在{place}的{spot.at}遇到的事，{reader.call}，你听了一定会笑。",
    ],
);
static QUESTION: Frame = frame(
    &[
        "do you and {fam.call} still {hobby}, as [you did when we were young|in the old days in {far}|I do here in {place}]?",
        "please give your {colour} {pet} some {food} from me, and greet {fam.call} [and the children|with all my heart|as well].",
        "does {fam.call} still bring you {good} {food} [every morning|when you are sad|from the market in {far}], and are you still as {trait} as before?",
        "when will you and {fam.call} come to {place} and see our {landmark} [again|by the {river}]?",
    ],
    &[
        "你和{fam.call}还像[我们小时候|从前在{far}|我在{place}]那样喜欢{hobby}吗？",
        "替我给你{colour}的{pet}一点{food}，也替我向{fam.call}[和孩子们|]问好。",
        "{fam.call}还[每天早上|在你难过时|从{far}的集市上]给你带{good}的{food}吗，你还和从前一样{trait}吗？",
        "你和{fam.call}什么时候再来{place}看看我们[|{river}边]的{landmark}呢？",
    ],
);
static INVITATION: Frame = frame(
    &[
        "come [in {month}|soon|when it is no longer {weather}], {reader.call}: it is only {n.miles} from {far} to {place}.",
        "next {season} I will travel the {n.miles} to {far} and visit you[ and {fam.call}|, {reader.call}|].",
        "write soon, {reader.call}, for a letter takes only {d.days} from {far} to {place}[, and I miss you|, and I am curious|].",
    ],
    &[
        "[{month}|早点|天气不再{weather}的时候]来吧，{reader.call}，从{far}到{place}只有{n.miles}路。",
        "明年{season}，我会走{n.miles}路到{far}去看你[和{fam.call}|，{reader.call}|]。",
        "快给我写信吧，{reader.call}，从{far}到{place}，信只要走{d.days}[，我很想你|，我很好奇|]。",
    ],
);
static SIGNED: Frame = frame(
    &[
        "your old friend {who.call}, {place}, {date.digits} {month} {year.digits}.",
        "with love from {place}, {date.digits} {month} {year.digits}, your {who.call}.",
        "many greetings from the {job} of {place}, {who.full}, written on {date.digits} {month}.",
    ],
    &[
        "你的老朋友{who.full}，{year.digits}年{month}{date}日于{place}。",
        "{place}的{who.full}祝你一切顺利，{year.digits}年{month}{date}日。",
        "{place}的{job}{who.full}向你问好，写于{month}{date}日。",
    ],
);

/// A letter.
pub(crate) fn story(mut scene: Scene<'_>) -> Story {
    let writer = scene.cast[0];
    let reader = pen_friend(&mut scene, writer);
    scene.perspective = Perspective { narrator: Some(writer), reader: Some(reader) };
    open(&mut scene, writer, reader);
    let start = scene.length();
    let length = start + scene.random.between(4, 9) as usize;
    plots::happen(&mut scene, length);
    scene.sprinkle(start, 0.35, &event(&ADDRESS).with("reader", reader));
    close(&mut scene, writer, reader);
    let title = event(&TITLE).with("who", writer).with("reader", reader).with("place", scene.place);
    scene.finish(title)
}

/// Somebody grown up in a neighbouring place.
fn pen_friend(scene: &mut Scene<'_>, writer: PersonId) -> PersonId {
    let neighbours = scene.facts.neighbours(scene.facts.person(writer).home);
    let away = *scene.random.pick(&neighbours);
    let parents = [0, 1, 4, 5].map(|index: usize| scene.facts.inhabitants(away)[index]);
    *scene.random.pick(&parents)
}

/// The wife or husband of the reader, who is a parent.
fn family(scene: &Scene<'_>, reader: PersonId) -> PersonId {
    scene.facts.spouse(reader).unwrap_or(reader)
}

fn open(scene: &mut Scene<'_>, writer: PersonId, reader: PersonId) {
    let facts = scene.facts;
    let friend = facts.person(reader);
    let job = facts.person(writer).job;
    let weeks = scene.random.between(3, 9);
    let greeting =
        event(&GREETING).with("reader", reader).with("far", friend.home).with("place", scene.place);
    let greeting = greeting.with("n", weeks).with("pet", friend.pet).with("fam", family(scene, reader));
    scene.tell(greeting.with("weather", &scene.weather.adjective).with("season", &scene.season.word));
    let spot = scene.spot();
    let news = event(&NEWS).with("place", scene.place).with("season", &scene.season.word);
    let news = news
        .with("reader", reader)
        .with("weather", &scene.weather.adjective)
        .with("job", &job.name)
        .with("work", &job.work);
    scene.tell(news.with("day", facts.place(scene.place).market_day).with("spot", spot));
}

fn close(scene: &mut Scene<'_>, writer: PersonId, reader: PersonId) {
    let facts = scene.facts;
    let friend = facts.person(reader);
    let place = facts.place(scene.place);
    let question =
        event(&QUESTION).with("hobby", friend.hobby).with("pet", friend.pet).with("place", scene.place);
    let question = question.with("food", &friend.food.word).with("trait", &friend.character.0);
    let question =
        question.with("fam", family(scene, reader)).with("far", friend.home).with("good", &friend.food.good);
    let question = question.with("colour", friend.pet_colour).with("river", place.river);
    scene.tell(question.with("landmark", place.landmark));
    let month = super::chronicle::month(scene);
    let miles = facts.way(scene.place, friend.home).0;
    let invitation =
        event(&INVITATION).with("month", month).with("season", &scene.season.word).with("n", miles);
    let invitation = invitation.with("place", scene.place).with("far", friend.home);
    let invitation = invitation.with("reader", reader).with("fam", family(scene, reader));
    scene.tell(invitation.with("d", 1 + miles / 12).with("weather", &scene.weather.adjective));
    let date = scene.random.between(1, 28);
    let signed = event(&SIGNED).with("who", writer).with("place", scene.place).with("date", date);
    let signed = signed.with("month", month).with("year", NOW);
    scene.tell(signed.with("job", &facts.person(writer).job.name));
}
