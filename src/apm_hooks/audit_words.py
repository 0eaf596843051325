"""Words and shapes by which a line of MEMORY.md is known for what does not belong there (protocol, section 11).

English, Chinese, Japanese and Korean. What a pattern finds must be told by the line alone, without its meaning: a rule
that misses a paraphrase is a nuisance, one that complains of sound lines is switched off. Every repetition is bounded.
"""

from __future__ import annotations

import re
from functools import cache

_MONTH = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?"
    r"|Nov(?:ember)?|Dec(?:ember)?)"
)

_DATE = (
    r"(?<![\d/.-])(?:19|20)\d\d(?:[-/]\d{1,2}[-/]\d{1,2}|\.\s?\d{1,2}\.\s?\d{1,2}\.?)(?!\d)"
    r"|(?<![\d/.-])\d{1,2}[/.]\d{1,2}[/.](?:19|20)\d\d(?!\d)"
    r"|(?:(?:19|20)\d\d\s?[年년]\s?)?(?<!\d)\d{1,2}\s?[月월]\s?\d{1,2}\s?[日号號일]"
    r"|(?:19|20)\d\d\s?[年년]\s?\d{1,2}\s?[月월]"
    rf"|\b{_MONTH}\.?\s\d{{1,2}}(?:st|nd|rd|th)?(?!\d)(?:,?\s(?:19|20)\d\d)?"
    rf"|\b\d{{1,2}}(?:st|nd|rd|th)?\s(?:of\s)?{_MONTH}\b(?:,?\s(?:19|20)\d\d)?"
    rf"|\b{_MONTH}\s(?:19|20)\d\d"
)
_RELATIVE = (
    r"\b(?i:yesterday|last\s(?:night|week|month|weekend|monday|tuesday|wednesday|thursday|friday|saturday|sunday)"
    r"|this\smorning|earlier\stoday|the\sother\sday|(?:a|an|one|two|three|four|five|a\sfew|\d{1,2})\s(?:days?"
    r"|weeks?|months?)\sago)\b|昨天|昨晚|前天|上周|上週|上个月|上個月|上星期|今早|今天早上|前几天"
    r"|[一两兩二三四五六几\d]{1,2}(?:天|周|週|个月|個月)前|昨日|一昨日|おととい|先週|先月|先日|今朝|\d{1,2}(?:日"
    r"|週間|か月)前|어제|그제|그저께|엊그제|지난주|지난달|오늘 아침|며칠 전|\d{1,2}(?:일|주|달) 전"
)

_EVENT = (
    r"\b(?i:crash(?:ed|es)?|fail(?:ed|ure)|fixed|broke|went (?:down|wrong|live)|ran out|happened|occurred|deployed"
    r"|migrated|switched|upgraded|downgraded|restarted|rebooted|rolled back|reverted|discovered|found|noticed"
    r"|resolved|reported|deleted|lost|restored|recovered|moved|changed|replaced|renamed|installed|removed|added"
    r"|decided|agreed|discussed|met|talked|said|told|shipped|released|launched|merged|finished|completed|started"
    r"|stopped|hit|caused|repaired|rebuilt|cancelled|called|visited|signed|paid|sent|received|arrived|came|had to"
    r"|took|outage|incident|post-?mortem)\b|发生|修复|崩溃|故障|宕机|挂了|坏了|事故|决定|定下|讨论|完成|上线|迁移"
    r"|更新了|升级|降级|重启|发现|解决|出现|失败|报错|回滚|恢复|误删|丢失|找回|改成|改为|改用|换成|换了|切换|部署"
    r"|发布|确认了|排查|开会|沟通|安装了|删除了|删了|新增了|發生|修復|崩潰|當機|決定|討論|更新了|升級|重啟|發現"
    r"|解決|錯誤|恢復|誤刪|開會|修正|障害|決めた|移行|復旧|停止|止まり|止まった|再起動|発見|報告|削除|変更"
    r"|リリース|デプロイ|切り替え|ロールバック|打ち合わせ|会議|合意|落ちた|壊れ|\S[たっ]?た(?:[。、]|$)|발생|수정"
    r"|장애|결정|이전|복구|실패|중단|재시작|발견|해결|보고|삭제|변경|배포|전환|롤백|회의|논의|멈춰|멈췄|고장|합의"
    r"|[했됐었았였왔갔렸났졌겼쳤냈썼켰샀탔뒀](?:다|음|습니다)|되었|了|\b(?!(?:need|based|red|bed|dated|named|used"
    r"|shared|located|supposed|interested|preferred|required|limited|unlimited|speed|feed|seed|indeed|fixed|united"
    r"|advanced|detailed|updated|confirmed|approved|scheduled|planned|expected)\b)[a-z]{2,20}ed\b|\b(?i:broke|fell"
    r"|cut|left|lost|won|quit|died|went|came|gave|wrote|began|chose|sold|bought|made)\b"
)
_STABLE = (
    r"\b(?i:birthdays?|born|birth|anniversary|married|since|valid|expires?|expiry|renew(?:al|s)?|joined|founded"
    r"|founding|established|hired|contract|licen[cs]e|holidays?|passport|deadline for)\b|生日|出生|纪念日|紀念日"
    r"|结婚|結婚|入职|入職|成立|有效期|到期|开店于|開店|创立|合同|续签|誕生日|生まれ|記念日|入社|設立|創業"
    r"|有効期限|생일|출생|기념일|결혼|입사|부임|설립|창립|만료|유효|개업"
)
_INCIDENT = r"\b(?i:crash|outage|incident|failed|failure|broke)|故障|宕机|崩溃|障害|장애"
_META = (
    r"(?i:last[ _-]?(?:updated?|reviewed|edited|changed|modified)|updated|reviewed|created|revision|as of)\b"
    r"|(?:最后|最近|最終)?(?:更新|修改|审阅|创建|归档|记录|編輯|作成|改訂)(?:日期|时间|時間|于|於|日)?\s{0,3}[:：]"
    r"|최종 ?수정|작성일|수정일|업데이트"
)

_PROGRESS = (
    r"^[ \t]{0,20}(?:[-*+]|\d{1,4}[.)])\s{1,4}\[[ xX~/-]\]\s{1,4}\S"
    r"|\b\d{1,3}(?:\.\d)?\s?%\s(?:(?i:of the [\w-]{1,30}(?: [\w-]{1,30})? (?:is|are|has been|have been) )?(?:done"
    r"|complete[d]?|finished|ready|migrated|covered|through|ported|implemented|remaining|left))|(?i:\b(?:progress"
    r"|completion))\W{0,6}(?:is |at |about )?\d{1,3}\s?%|(?:进度|進度|完成度|完成率|進捗率?|진행률|진척률|진척도"
    r"|已完成|完成了?)\s{0,3}[:：=]?\s{0,3}(?:约|約|は|达到?)?\s?\d{1,3}\s?%|\b(?i:(?:is|are|was|still|now"
    r"|currently) in progress|work in progress|wip\b|(?:is|are|was|were|still) blocked|(?:is|are|currently"
    r"|still) on hold|not (?:yet )?started|under review|in review|waiting for|half[- ]?way|(?:almost|nearly|half"
    r"|partly|mostly) (?:done|finished|complete|ready)|waiting on|still (?:to do|open|pending|missing|failing|todo"
    r"|needs?|has to|have to)|remaining (?:work|tasks?|steps?)|(?:half|one third|two thirds|a third|three quarters"
    r"|most)(?: of .{1,30})? (?:is |are |was )?(?:done|finished|written|complete|ready)|\d{1,3}\s?% [a-z]{3,20}ed"
    r"|half [a-z]{3,20}ed|needs? (?:one more|another|a review|review)|next (?:sprint|week|month|quarter)"
    r"|go(?:es)? live|no [a-z]{2,20} yet|not .{1,30} yet|yet to be|due (?:in|on|by|next|end of) [\w]{1,20})\b"
    r"|\bTO-?DO\b|\b(?i:phase|sprint|milestone|iteration)\s(?i:\d{1,3}|[ivx]{1,4}|one|two|three|four|five)\b"
    r"|\b(?i:(?:\d{1,5}|two|three|four|five|six|seven|eight|nine|ten) (?:of|out of) (?:the )?(?:\d{1,5}|two|three"
    r"|four|five|six|seven|eight|nine|ten) (?:[\w-]{1,30} ){0,3}(?:are |is |were )?(?:done|complete[d]?|finished"
    r"|migrated|ported|pass(?:ing|ed)?|merged|written|translated|converted|reviewed|in\b))|\b(?:PR|MR"
    r"|(?i:pull request|merge request|issue|ticket))\s?[#!]?\d{1,7}\b.{0,40}\b(?i:open|merged|waiting|needs|review"
    r"|closed|draft|blocked|approved|pending)\b|^(?!.{0,200}\b(?i:something|anything|everything|whenever|when|if"
    r"|until|before|after|once|unless)\b).{0,200}\b(?i:(?:is|are|was|were|has been|have been"
    r"|got) (?:[a-z]{1,20}ly )?(?:done|completed?|finished|underway|under way|ongoing|delayed|scheduled|postponed"
    r"|paused|shipped|merged|half done|nearly done))\b|^[ \t]{0,20}(?:[-*+]"
    r"|\d{1,4}[.)])\s{1,4}(?:[✅☑✔🚧⏳🔄🟡🔴🟢🟠🎉]\ufe0f?)\s?\S|\(\d{1,4}/\d{1,4}\)|[\w）)] ?(?:✅|🚧"
    r"|⏳)\ufe0f?(?:\s?(?:完了|完成|완료|done|DONE))?\s{0,4}$|\b[0-9a-f]{7,40}\b.{0,6}\b(?:feat|fix|docs|chore"
    r"|refactor|test|perf|style|build|ci)(?:\([\w-]{1,30}\))?!?:|\b(?i:currently|right now|at the moment"
    r"|now) (?i:working on|[a-z]{2,20}ing) (?i:the|a|an|our|its|two|three)\b|进行中|正在(?:开发|实现|迁移|重构"
    r"|编写|测试|对接|排查|修改|推进|联调|做|写)|(?:尚未|还没有?|還沒有?)[一-龥]|未(?:完成|开始|開始|上线|上線)"
    r"|(?<![期等对對看招接优善虐款])待(?!遇|机|機|人|命|在|办|辦)[一-龥]{2}|等(?:客户|客戶|对方|甲方|反馈|回复"
    r"|审批|通知|意见|排期|评审)|(?:开发|迁移|重构|联调|测试|对接|串接)(?:中|已?完成|完毕)|还在(?:查|调|写|做|改"
    r"|测|跑)|還在|第[一二三四五六七八九十\d]{1,3}(?:阶段|階段|期|个里程碑|轮迭代)|(?:计划|预计|計劃|預計"
    r"|预定).{0,16}(?:上线|完成|发布|交付|交|上線|發布)|还差|剩余?\s?\d{1,5}\s?[个個项条件]|剩余\s?\d|已上线"
    r"|已上線|(?:卡|阻塞|停)在|(?:跑|做|写|寫)(?:完|了|到)一半|(?:做|寫|写|跑)到|進行中|対応中|作業中|(?:着手|実装"
    r"|移行|開発|検討)(?:中|済み|完了)|未着手|未対応|未完了|(?:レビュー|リリース|マージ|返事|承認)(?:待ち|済み"
    r"|予定)|(?:来週|来月|今週|今月).{0,20}(?:予定|始め|開始|から)|あと少し|もう少しで|(?:始める|する|の)予定(?:。"
    r"|$)|フェーズ\s?\d|スプリント\s?\d|残り(?:は|\s?\d)|まで(?:終わ|完了|でき)|진행\s?중|작업\s?중|(?:개발|구현"
    r"|이전|검토)\s?(?:중|완료)|완료(?:됨|됐다|했다|함)|미착수|(?:리뷰|검토|배포|병합|승인)\s?(?:대기|예정)"
    r"|스프린트\s?\d|마일스톤|남았다|남음|절반(?:쯤|\s?정도)|반쯤|예정(?:이다|임|\.|$)|남은\s?(?:작업|일)"
    r"|기다리는\s?중|까지\s?(?:끝|마쳤|짰|했)"
)
_PROGRESS_LABEL = (
    r"(?i:(?:progress|to-?dos?|next(?: steps?| up)?|blockers?|blocked(?: by| on)?|in progress|wip|done|remaining"
    r"|milestones?|eta|open (?:items?|tasks?|questions?)|pending))\s{0,2}[:：]\s{0,4}\S|(?i:blocked (?:on|by)\b)"
    r"|(?i:(?:current )?(?:status|state))\s{0,4}[:：]\s{0,4}(?=.{0,80}(?:\b(?i:[a-z]{3,20}ing|next|done|wip"
    r"|started|blocked|paused|v\d)\b|\d))|(?:当前|目前|現在の?|현재\s?)?(?:状态|状態|进度|進度|进展|待办(?:事项)?"
    r"|待辦|下一步|阻塞|卡点|里程碑|截止(?:日期|时间)?|排期|剩余|已完成|未完成|状況|進捗|ステータス"
    r"|次の(?:ステップ|作業|手順|フェーズ)|残り|残作業|残タスク|締め?切り|開始|完了|开始时间|完成时间|진행\s?상황"
    r"|진행률|다음\s?(?:단계|작업)|할\s?일|마감일?|블로커)\s{0,4}[:：]\s{0,4}\S"
)
_PROGRESS_TITLE = (
    r"(?i:(?:current |open |active )?(?:status|progress|to-?dos?|next steps?|blockers?|milestones?|open (?:items"
    r"|tasks|questions)|in progress|roadmap|tasks|backlog|done|completed(?: work| tasks)?|work in progress))"
    r"|(?:当前|目前|今日|本周)?(?:状态|进度|进展|任务|待办(?:事项)?|下一步|阻塞|里程碑|已完成(?:工作|任务)?"
    r"|未完成(?:任务)?)|(?:現在の|完了した)?(?:状況|進捗(?:サマリー)?|次の(?:ステップ|フェーズ)|残(?:作業|タスク)"
    r"|課題|タスク)|(?:현재\s?)?(?:상태|진행\s?상황|다음\s?단계|할\s?일|남은\s?작업)"
)
_PROGRESS_CELL = (
    r"(?i:in progress|wip|done|blocked|on hold|not started|started|paused|ongoing|active development|review"
    r"|planned|todo|complete[d]?|\d{1,3}\s?%)|进行中|执行中|规划中|已完成|完成|未开始|阻塞|暂停|待.{1,6}|已上线"
    r"|已发布|進行中|完了|未着手|対応中|진행\s?중|완료|대기|(?:[✅☑✔🚧⏳🔄🟡🔴🟢🟠]\ufe0f?)\s?\S.{0,80}"
)

_TEMPORARY = (
    r"\b(?i:temporar(?:y|ily)(?! (?:files?|director|dirs?|folders?|paths?|tables?|storage|credentials?|workers?"
    r"|contract|staff|address|visa|data|space|solutions? |fixes ))|work-?arounds?|worked around|hot-?fix"
    r"|quick (?:fix|patch)|band-?aid|stop-?gap|make-?shift|for now|for the time being|for the moment"
    r"|interim (?:fix|solution)|monkey-?patch(?:ed)?|kludge|(?:until|till) (?:[\w'-]{1,30} ){1,8}?(?:fix(?:es|ed)?"
    r"|patch(?:es|ed)?|merged?s?|releas(?:es|ed?)|resolved?|upgraded?|replaced?|repaired?|arrives?|renewed|back"
    r"|lands?|comes|works)|(?:remove|revert|undo) (?:this|it|that) (?:when|once|after|as soon))\b|临时(?!文件|目录"
    r"|文件夹|路径|表|工|密码|牌照|数据|空间|取消|有事|变更|通知|决定|起意|加)|臨時(?!檔案|目錄|工)|暂时|暫時|权宜"
    r"|權宜|绕过|繞過|应急(?:方案|措施|处理)|规避(?:方案|措施)|变通(?:办法|方案|做法)|等.{0,16}(?:修好|修复|修復"
    r"|更新).{0,6}(?:再|后|後)|(?:这|這)(?:几|幾|两)天先|先.{0,24}(?:代替|撑着|[顶頂](?:一下|一阵|幾天|几天|着|著)"
    r"|凑合|将就)|(?:撑|顶|扛)着|(?:到位|修好|恢复|更新|续期)(?:之|以)?后(?:再|换|改|撤|切)|一時的|一時しのぎ|暫定"
    r"|回避策|とりあえず|応急|当面|仮(?:対応|対処|運用|置き)|(?:直る|修正される|復旧する)まで|ワークアラウンド"
    r"|今は(?:手動|手作業|手で)|手(?:動|作業)で(?:流し|回し|対応し|送っ)て|임시(?!\s?(?:파일|폴더|디렉터리"
    r"|디렉토리|저장|공휴일))|일시적|우회|당분간|(?:고쳐질|수정될|고칠)\s?때까지|워크어라운드|땜빵|며칠(?:간"
    r"|\s?동안)|손으로\s?(?:입력|처리|옮)"
)
_NOT_TEMPORARY = (
    r"\b(?i:never|no|not|avoid|don'?t|prefer\w{0,4}|dislikes?|hates?|instead of|rather than|over"
    r"|without)\b[^.;]{0,120}\b(?i:temporar|work-?around|hot-?fix|quick fix|stop-?gap|interim|kludge|band-?aid)"
    r"|(?:不(?:要|用|做|写|接受|喜欢|得|能|许|可)|禁止|严禁|避免|拒绝|讨厌|反对|而不是|無|无|別"
    r"|别)[^。；]{0,40}(?:临时|臨時|暂时|绕过|权宜|应急|变通)|(?:一時|暫定|応急|回避|仮対応)[^。]{0,20}(?:しない"
    r"|避け|禁止|嫌)|(?:임시|우회|땜빵)[^.]{0,20}(?:않|말|금지|피)"
)

_METRIC = (
    r"\b(?i:accuracy|precision|recall|f1(?:[- ]score)?|au(?:ro)?c|rmse|mae|mse|r\^?2|loss|perplexity|bleu|rouge"
    r"|fid|wer|coverage|depth|n50|p[- ]?value|fdr|log2fc|fold[- ]change|mapping rate|throughput|latency(?: p\d\d)?"
    r"|p9[059]|qps|rps|(?:conversion|bounce|click|error|pass|hit) rate|ctr|speed-?up)(?:\s(?i:of|is|was|were|at"
    r"|reached|rose to|fell to|dropped to|went from|went up to)|\s?[=:≈~])\s?(?:about |~)?\d"
    r"|\b\d{1,3}(?:\.\d{1,4})?\s?%\s(?i:accuracy|precision|recall|coverage|mapped|conversions?|of (?:visitors"
    r"|users|reads|samples))|\b(?i:converted|scored|measured|produced|yielded"
    r"|averaged)\s(?:about )?\d{1,6}(?:\.\d{1,4})?|\b(?!(?i:tax|gst|vat|exchange|interest|hourly|daily|day|flat"
    r"|sample|frame|refresh|bit|baud|sampling|discount) )[A-Za-z]{3,20} (?i:rate|score)(?:\s(?i:of|is|was"
    r"|at))?\s?[:=]?\s?\d|\bR(?:²|\^2)\s?[=≈:]\s?\d|\b(?i:took|needed|lasted)\s\d{1,6}(?:\.\d{1,3})?\s?(?:m?s|sec"
    r"|seconds|min|minutes|h|hours)\b|(?<![税利汇匯費费料概成捗])率\s?(?:为|為|是|は|が|约|約|达|達|[:：=])?\s?\d"
    r"|(?<![세환이행척성료])[율률]\s?(?:은|이|[:：=])?\s?\d|\d\s?(?:秒|分|時間)(?:かかった|かかる)|(?:花了"
    r"|用了)\s?\d{1,6}\s?(?:秒|分钟|小时|毫秒)|\d\s?(?:초|분|시간)(?:이|가)?\s?걸(?:렸다|림)|\b(?i:mean|median"
    r"|average|avg)\b[^.|]{0,40}?[:=≈]\s?~?\d|\bp\s?[=<]\s?0?\.\d|\bn\s?=\s?\d{1,6}\b|(?:准确率|準確率|精确率"
    r"|召回率|精度|误差|损失|覆盖度|测序深度|比对率|转化率|轉換率|点击率|通过率|耗时|延迟|延遲|吞吐量|相关系数"
    r"|均值|平均值?|中位数|QPS)\s?(?:为|為|是|达到?|達到?|约|約|从|提升到|降到|只有|[:：=≈])?\s?\d|(?:正解率|精度"
    r"|再現率|適合率|誤差|損失|カバレッジ|リード深度|マッピング率|転換率|所要時間|遅延|スループット|平均"
    r"|中央値)\s?(?:は|が|[:：=]|約){0,2}\s?\d|(?:정확도|정밀도|재현율|오차|손실|커버리지|매핑률|전환율"
    r"|소요\s?시간|지연|처리량|평균|중앙값)\s?(?:은|는|이|가|[:：=]|약){0,2}\s?\d"
)
_SAMPLE = (
    r"\b(?:[SED]RR|[SED]RX|[SED]RS|GSM|GSE|SAMN|SAMEA|PRJNA|PRJEB)\d{3,12}\b|\b(?i:sample|specimen|patient"
    r"|subject)[\s_#-]{1,3}[A-Z]{0,4}[-_]?\d{1,6}[A-Z]?\b(?=.{0,80}\d)|(?:\b[A-Z]{1,3}[-_]?|#"
    r"|No\.\s?)\d{1,4}\b\D{1,24}\d{1,6}\.\d.{0,24}(?:\b[A-Z]{1,3}[-_]?|#|No\.\s?)\d{1,4}\b\D{0,16}\d{1,6}\.\d"
    r"|(?:样本|樣本|样品|サンプル|検体|試料|샘플|검체)\s?[#:：]?\s?[A-Za-z]{0,4}[-_]?\d{1,6}"
)
_TARGET = (
    r"\b(?i:threshold|cut-?off|target|goal|at least|at most|minimum|maximum|must|limit|budget|slo|default"
    r"|require[sd]?)\b|阈值|目标|目標|至少|不低于|不超过|低于|高于|上限|下限|才用|閾値|以上|以下|以内|최소|최대"
    r"|목표|임계|이상|이하"
)

_PRINCIPLE = (
    r"(?i:never|don['’]?t|do not|always|avoid|prefers?|preferred|ask|only|no|must|should|likes?|dislikes?|hates?"
    r"|wants?|expects?|values?|favou?rs?|answer|reply|check|verify|report|tell|confirm|explain|remember to"
    r"|make sure|ensure|mark|speak|respect|refuse|treat|be|when(?:ever)?|if|before|keep|write|allowed|anything"
    r"|everything|nothing|nobody)\b|不要|不得|不能|不用|不许|禁止|切勿|必须|务必|始终|总是|永远|请|应当?|如果|若"
    r"|遇到|优先|尽量|避免|偏好|喜欢|讨厌|倾向|每次|只有|凡是|允许|可以"
)
_PRINCIPLE_WITHIN = (
    r"\b(?i:(?:belongs?|goes|go|lives?) (?:in|to|into))\b|(?:写进|写到|写在|放进|放到|记到|归到|寫進|寫在)"
    r"|に(?:書く|置く|入れる)|에\s?(?:쓴다|적는다|둔다)|\b(?i:(?:likes|prefers|wants|hates|dislikes|expects"
    r"|values) (?:to|it|when|that)|is fine|is not fine)\b|必须|务必|不要|禁止|应当|一定先|之前，?不|ください|べき"
    r"|必ず|常に|禁止|好み|すること[。.]?$|しない(?:こと)?[。.]?$|항상|반드시|금지|하지\s?(?:않는다|말)"
    r"|해야\s?(?:한다|함)|하세요|선호"
)
_STAMP = r"(?i:confirmed|approved|verified|effective|reviewed|as of|valid from)\s{1,2}(?:on\s)?$"
_RESULT_TITLE = (
    r"(?i:(?:test |our |key |some )?(?:measure(?:d|ments?)|results?|numbers|figures|metrics|benchmarks?|data|stats"
    r"|statistics|findings|runs))|(?:测试|实验|压测|測試|實驗)?(?:数据|数字|结果|指标|测量|成绩|數據|數字|結果"
    r"|測量)|(?:数値|数字|測定(?:値|結果)?|結果|計測|実験結果|検証(?:結果)?|ベンチマーク)|(?:실험\s?"
    r"|측정\s?)?(?:수치|결과|측정|벤치마크|숫자)"
)
_TEMPORARY_TITLE = (
    r"(?i:(?:known |current )?(?:kludges?|work-?arounds?|hacks?|patches|make-?do|stop-?gaps?|temporary(?: fixes"
    r"| measures)?|quick fixes|hot-?fixes))|(?:临时|臨時)(?:方案|措施|处理|處理)?|凑合|湊合|将就|將就|权宜|變通"
    r"|变通|绕过|补丁|しのぎ|暫定(?:対応)?|回避策|応急(?:対応)?|仮対応|임시(?:\s?조치)?|우회|땜빵"
)
_HISTORY_TITLE = (
    r"(?i:(?:project |event )?(?:timeline|history|log|diary|events?|incidents?|outages?|what happened|past events"
    r"|journal|change-?log|chronicle))|大事记|大事記|事件|历史|歷史|流水|记录|紀錄|日志|日誌|经过|故障(?:记录)?"
    r"|事故|时间线|更新日志|交互历史|記録|できごと|出来事|履歴|経緯|障害(?:記録)?|기록|있었던\s?일|지난\s?일|이력"
    r"|연혁|사건|장애"
)
_MEASURED = r"\d[.,]\d|\d\s?%|\d{2}"
_DECISION = r"\b(?i:decid|decision|agreed|lesson|learn)|决定|定下|教训|決定|決めた|教訓|결정|교훈"


@cache
def pattern(name: str) -> re.Pattern[str]:
    """One of the patterns, compiled when it is first asked for; `name` is the constant's, in small letters."""
    return re.compile(_PATTERNS[name])


_PATTERNS = {
    "date": _DATE,
    "relative": _RELATIVE,
    "event": _EVENT,
    "stable": _STABLE,
    "incident": _INCIDENT,
    "meta": _META,
    "progress": _PROGRESS,
    "progress_label": _PROGRESS_LABEL,
    "progress_title": _PROGRESS_TITLE,
    "progress_cell": _PROGRESS_CELL,
    "temporary": _TEMPORARY,
    "not_temporary": _NOT_TEMPORARY,
    "metric": _METRIC,
    "sample": _SAMPLE,
    "target": _TARGET,
    "principle": _PRINCIPLE,
    "principle_start": r"不要|不得|不能|不许|禁止|切勿|必须|务必|始终|总是|请|如果|若|遇到|(?i:anything|nothing)\b",
    "principle_within": _PRINCIPLE_WITHIN,
    "result_title": _RESULT_TITLE,
    "temporary_title": _TEMPORARY_TITLE,
    "history_title": _HISTORY_TITLE,
    "measured": _MEASURED,
    "stamp": _STAMP,
    "decision": _DECISION,
}
