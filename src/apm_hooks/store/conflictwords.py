"""Words by which two sentences that are otherwise the same may contradict each other. Plain data; `conflicts` takes it
apart. Pairs of opposites stand as `a b|c d`."""

from __future__ import annotations

# What turns a sentence around by coming or going.
NEGATIONS = """
    not no never none nothing nobody nowhere neither nor without cannot cant can't dont don't doesnt doesn't didnt
    didn't isnt isn't arent aren't wasnt wasn't werent weren't wont won't wouldnt wouldn't shouldnt shouldn't couldnt
    couldn't hasnt hasn't havent haven't hadnt hadn't mustnt mustn't neednt needn't aint ain't longer
"""

# What may come and go without another meaning.
WEAK = "the a an of to in at on for is are was were it its this that and by with now also just"

# What comes and goes with a negation, and says nothing by itself.
AUXILIARIES = "do does did is are was were has have had will would should could can may must be been"

OPPOSITES = """
    always never|often rarely|enabled disabled|enable disable|enables disables|on off|true false|yes no|allow forbid|
    allowed forbidden|allows forbids|allow deny|allowed denied|allows denies|permit forbid|permitted forbidden|
    open closed|opens closes|start stop|started stopped|starts stops|before after|above below|over under|more less|
    increase decrease|increased decreased|increases decreases|higher lower|high low|fast slow|faster slower|
    light dark|public private|required optional|mandatory optional|required forbidden|likes dislikes|like dislike|
    loves hates|love hate|accepts rejects|accept reject|accepted rejected|approved rejected|approve reject|
    agrees disagrees|agree disagree|includes excludes|include exclude|included excluded|add remove|added removed|
    adds removes|online offline|up down|left right|first last|early late|earlier later|old new|older newer|
    pass fail|passes fails|passed failed|succeeds fails|success failure|works fails|safe unsafe|stable unstable|
    sync async|synchronous asynchronous|upper lower|uppercase lowercase|internal external|local remote|tabs spaces|
    minimum maximum|min max|morning evening|morning afternoon|weekly daily|daily monthly|weekly monthly|hourly daily|
    free paid|active inactive|visible hidden|with without|all none|everyone nobody|present absent|locked unlocked|
    encrypted unencrypted|signed unsigned|married single|single double|vegetarian carnivore|hot cold|soft hard|
    temporary permanent|manual automatic|manually automatically|horizontal vertical|ascending descending|read write|
    ahead behind|inside outside|formal informal|formally informally|kept deleted|keep delete|done pending
"""

# The longest first: the first that fits is taken.
NEGATIONS_HAN = "不需要 不再 没有 沒有 并非 禁止 不能 不要 不会 不是 不用 从不 从未 绝不 不 没 沒 未 无 無 非 别 勿 莫"

OPPOSITES_HAN = """
    开启 关闭|打开 关闭|启用 禁用|启用 停用|允许 禁止|可以 禁止|喜欢 讨厌|喜欢 厌恶|同意 反对|同意 拒绝|接受 拒绝|
    通过 拒绝|通过 驳回|成功 失败|总是 从不|总是 从来不|经常 很少|必须 可选|必填 选填|公开 私有|公开 保密|增加 减少|
    上升 下降|提前 推迟|之前 之后|以前 以后|前 后|上午 下午|早上 晚上|白天 晚上|在线 离线|同步 异步|手动 自动|
    升序 降序|浅色 深色|亮色 暗色|内部 外部|本地 远程|临时 永久|免费 收费|免费 付费|最大 最小|最高 最低|高 低|快 慢|
    大 小|多 少|新 旧|开 关|左 右|上 下|保留 删除|加密 明文|已婚 未婚|单身 已婚|支持 反对|赞成 反对|每天 每周|
    每周 每月|每天 每月|每日 每周|每日 每月|中文 英文|正式 测试|生产 测试|空格 制表符|甜 咸|热 冷|热 冰|有 无|
    有 没有|是 否
"""

# Numbers, days and months in words: what a fact is dated and counted by.
NUMBER_WORDS = """
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
    eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million billion half
    once twice thrice first second third fourth fifth sixth seventh eighth ninth tenth dozen
    january february march april june july august september october november december jan feb mar apr jun jul aug sep
    sept oct nov dec monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays
    fridays saturdays sundays mon tue wed thu fri sat sun spring summer autumn winter noon midnight
"""

NUMBERS_HAN = "零〇一二三四五六七八九十百千万亿两壹贰叁"

# First names also begin a sentence, where a capital letter says nothing.
FIRST_NAMES = """
    ada adam ahmed aisha alan alex alexander ali alice amelia amir ana andre andrea andrew angela anna anne anton
    anya arjun arthur astrid ben benjamin bob boris brian bruno carla carlos caroline chen chloe chris christine claire
    clara dalia dan daniel david deepa diana diego dmitri dora edward elena eli elias elif elisa ella emil emily emma
    emre eric erik eva fatima felix finn frank freya george goran grace greta hana hannah hans harry hassan helen henry
    ian ibrahim ida igor ines ingrid irene iris isaac ivan jack jakob james jan jane jonas jorge jose julia karin karl
    kate keiko kenji kim klara kofi lars laura lea lena leo liam lily lin lina linda lisa louis luca lucas lucy luis
    lukas maja marco maria marie mark marta martin mary mateo max maya mei michael miguel mila milan mina mira mohamed
    nadia natasha nina noah noor nora olga oliver olivia omar oscar otto pablo paul paula pedro peter petra philip
    pierre priya rachel raj ravi rita robert rosa ruth sam samir samuel sandra sara sarah sergei simon sofia sophie
    stefan sven tara thomas tim tom tomas tony uma ursula vera victor viktor vincent walter wei yara yuki yusuf zara zoe
"""

# Surnames, and what stands before a familiar name (老王, 小李, 阿明).
SURNAMES_HAN = (
    "王李张刘陈杨赵黄周吴徐孙胡朱高林何郭马罗梁宋郑谢韩唐冯于董萧程曹袁邓许傅沈曾彭吕苏卢蒋蔡贾丁魏薛叶阎余潘杜戴夏钟汪田"
    "任姜范方石姚谭廖邹熊金陆郝孔白崔康毛邱秦江史顾侯邵孟龙万段雷钱汤尹黎易常武乔贺赖龚文小老阿"
)

PLACES_HAN = """
    北京 上海 广州 深圳 杭州 成都 南京 武汉 西安 重庆 天津 苏州 厦门 青岛 大连 长沙 香港 台北 东京 大阪 首尔
    新加坡 纽约 伦敦 巴黎 柏林 悉尼 东南亚 欧洲 美国 日本 德国 法国 英国 加拿大 华东 华北 华南 亚太
"""
