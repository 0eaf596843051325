"""Function words of eight languages: what carries grammar and no topic (protocol, section 5, step 2).

Plain data. Words stand as they are written; `words.fold` is applied where they are looked up. Markers are the function
words that belong to one of the Latin-script languages alone, so that they tell which language a text is in: a word
such as `die`, `comment` or `son` is a stop word in one language and a topic in another.
"""

from __future__ import annotations

LATIN_LANGUAGES = ("en", "de", "es", "fr")
CYRILLIC_LANGUAGES = ("ru",)

MARKERS = {
    "en": """
        i at by if an the of to and is are was were with for what how this that these those you your it its
        they their there have has had does did can could should would will not from which who whom where
        when why been being our we my some any every each because about into than then please let's isn't
        don't doesn't i'm i've it's we're
    """,
    "de": """
        fehlt geht macht braucht steht liegt sagt kommt heute gestern wegen neue neuen alle der das
        und nicht ist sind ein eine einen einem einer eines für mit auf wie wird werden wurde wurden haben
        hatte ich wir ihr sie uns euch mich dich sich auch noch schon aber oder wenn weil dass bei beim
        nach vom von zum zur über unter kein keine keinen mein meine dein unser unsere diese dieser dieses
        diesen welche welcher welches können muss müssen soll sollte kann gibt hier dort wer wen wem jemand
        bitte im dem zu aus
    """,
    "es": """
        de la un en se el los las una unos unas del con por para que qué está están es son como cómo cuándo
        dónde quién quiénes cuál cuáles hay pero porque también muy más sobre hasta desde donde nos
        nosotros vosotros ellos ellas mi mis tu tus su sus este esta estos estas eso esto algo alguien ha
        han he hemos tengo tiene tenemos puede puedo fue ser y al lo
    """,
    "fr": """
        de la un en se le les des une du dans avec est sont été et ou où qui que quoi quel quelle quels
        quelles pourquoi quand combien ne pas nous vous ils elles je tu il elle mon ma mes ton ta tes notre
        nos votre vos leur leurs ce cette ces cet sur sous chez aux au mais donc car très aussi avoir être
        fait faire peut peux doit faut y à ça c'est qu'on quelqu'un
    """,
}

STOP = {
    "en": """
        a an the of to and or but nor so if then else than as at by for from in into on onto off out over
        under up down with without within between among through during before after again against about
        above below across along around near i me my mine myself you your yours yourself he him his himself
        she her hers herself it its itself we us our ours ourselves they them their theirs themselves this
        that these those here there where when why how what which who whom whose whoever whatever is am are
        was were be been being have has had having do does did doing done can could may might must shall
        should will would ought not no yes any some every each either neither both all none one two three
        four five six seven eight nine ten first second third last next few many much more most less least
        other another such same own only just also too very quite rather really even still yet already ever
        never always often sometimes soon now once twice back away maybe perhaps because since while until
        till though although however therefore whether like unlike per via etc eg ie vs get gets got
        getting gotten go goes going gone went come comes coming came make makes making made take takes
        taking took taken give gives giving gave given put puts let lets keep keeps kept seem seems say
        says said saying tell tells told want wants wanted know knows knew known think thinks thought see
        sees saw seen look looks looking looked mean means meant use uses used using try tries tried trying
        feel feels felt become becomes became someone somebody something somewhere anyone anybody anything
        anywhere everyone everybody everything everywhere nobody nothing nowhere please don didn doesn isn
        aren wasn weren couldn shouldn wouldn hasn haven hadn won ain ll ve re im ive dont didnt doesnt
        isnt arent wasnt cant couldnt wont gonna wanna gotta lot lots bit kind sort way able sure upon
        toward towards behind beside besides beyond despite except inside outside instead almost enough
        whole half later earlier ago today tomorrow yesterday tonight old big small little long short good
        bad better best worse worst high low right wrong left early late far fast slow hard easy real true
        false full empty several various certain actually basically probably definitely anyway apparently
        currently especially exactly finally recently usually else's don't didn't doesn't isn't
    """,
    "de": """
        kennt kennen kenne kennst denkt denken denke glaubt glaube glauben findet meint
        der die das den dem des ein eine einen einem einer eines und oder aber denn sondern doch auch nicht
        kein keine keinen keinem keiner nur noch schon mal immer nie wieder sehr so zu zum zur zurück als
        wie wenn weil dass daß ob damit dann da dort hier her hin nun jetzt bald gleich eben etwa fast ganz
        gar mehr meist meiste weniger viel viele vieles wenig etwas nichts alles alle allem allen aller
        jeder jede jedes jedem jeden man jemand niemand ich du er sie es wir ihr mich dich ihn uns euch mir
        dir ihm ihnen sich mein meine meinen meinem meiner dein deine deinen sein seine seinen seinem
        seiner ihre ihren ihrem ihrer unser unsere unseren unserem unserer euer eure euren dieser diese
        dieses diesen diesem jener jene jenes welcher welche welches welchen welchem wer wen wem wessen was
        wo wohin woher wann warum wieso weshalb wofür womit wozu bin bist ist sind seid war warst waren
        wart gewesen sei wäre wären habe hast hat haben habt hatte hatten hätte hätten gehabt werde wirst
        wird werden werdet wurde wurden würde würden worden geworden kann kannst können könnt konnte
        konnten könnte könnten muss musst müssen müsst musste mussten darf dürfen soll sollst sollen sollte
        sollten will willst wollen wollte mag mögen möchte möchten lassen lässt gibt gab geben geht ging
        gehen kommt kam kommen macht machte machen tun tut tat sagt sagte sagen sieht sehen weiß wissen
        brauche braucht brauchen an auf aus außer bei beim bis durch für gegen hinter im in ins mit nach
        neben ohne seit statt trotz über um unter vom von vor während wegen zwischen ab bitte ja nein eins
        zwei drei vier fünf erste ersten zweite zweiten letzte letzten nächste nächsten heute morgen
        gestern gut guter gute gutes schlecht groß klein alt alte alter altes neu neue neuen neues lang
        kurz wirklich vielleicht eigentlich einfach bereits trotzdem deshalb daher also außerdem sonst
        irgendwo irgendwie irgendwas überhaupt ziemlich davon dabei dafür dagegen daran darauf daraus darin
        darum darunter dazu hat's gibt's
    """,
    "es": """
        conoce conocen conoces conozco conocer cree crees creo piensa piensas gusta gustan
        el la los las un una unos unas lo al del de y e o u pero sino ni que qué si sí no nunca siempre ya
        aún todavía también tampoco muy más menos mucho mucha muchos muchas poco poca pocos pocas algo
        alguien algún alguna algunos algunas nada nadie ningún ninguna todo toda todos todas cada otro otra
        otros otras mismo misma mismos mismas tal tan tanto tanta cual cuál cuáles quien quién quiénes
        cuando cuándo donde dónde como cómo cuanto cuánto cuánta cuántos cuántas porque por para con sin
        sobre bajo entre hacia hasta desde durante según contra ante tras a en yo me mí mi mis mío tú te ti
        tu tus él ella ello se su sus suyo nosotros nosotras nos nuestro nuestra nuestros nuestras vosotros
        os vuestro vuestra ellos ellas les le usted ustedes este esta esto estos estas ese esa eso esos
        esas aquel aquella aquello aquellos aquí ahí allí acá allá ahora entonces luego después antes
        pronto tarde hoy ayer mañana anoche ser soy eres es somos son era eran fue fueron sido sea sería
        estar estoy estás está estamos están estaba estaban estado haber he has ha hemos han había habían
        habrá hay haya hubo tener tengo tienes tiene tenemos tienen tenía hacer hago hace hacen hizo hecho
        ir voy vas va vamos van iba poder puedo puedes puede podemos pueden podría querer quiero quieres
        quiere quieren quería deber debe deben debería decir dice dicen dijo dicho ver veo ve ven visto
        saber sé sabe saben dar da dan dio dado poner pone puesto pasar pasa pasó favor uno dos tres cuatro
        cinco primero primera segundo segunda último última próximo próxima bueno buena malo mala mejor
        peor grande pequeño nuevo nueva viejo vieja bien mal así casi solo sólo además quizá quizás incluso
        mientras aunque pues vez veces falta faltan
    """,
    "fr": """
        connaît connais connaissez connaître connaissent connu sait-on
        pense pensez penses crois croyez aime aimez
        le la les l un une des du de d et ou où mais donc or ni car que qu qui quoi dont quel quelle quels
        quelles si oui non ne n pas plus moins jamais toujours déjà encore aussi très trop peu beaucoup
        assez bien mal tout toute tous toutes chaque autre autres même mêmes tel telle quelque quelques
        quelqu quelqu'un rien personne aucun aucune plusieurs ce c cet cette ces cela ça ceci celui celle
        ceux celles je j me m moi mon ma mes mien tu te t toi ton ta tes il elle on se s soi son sa ses lui
        leur leurs nous notre nos vous votre vos ils elles eux en y à au aux avec sans sur sous dans par
        pour vers chez entre depuis pendant avant après contre selon jusque jusqu comme comment combien
        quand pourquoi parce puis alors ainsi ici là là-bas maintenant hier aujourd hui demain soir matin
        être suis es est sommes êtes sont étais était étaient été sera serait soit avoir ai as a avons avez
        ont avait avaient eu aura aurait faire fais fait font faisait fera faites aller vais va allons
        allez vont pouvoir peux peut pouvons pouvez peuvent pourrait devoir dois doit devons doivent
        devrait vouloir veux veut voulez veulent voudrait falloir faut fallait faudrait dire dis dit disent
        voir vois voit vu savoir sais sait savez venir vient viennent venu mettre met mis prendre prend
        pris donner donne donné passe passer deux trois quatre cinq premier première deuxième dernier
        dernière prochain prochaine bon bonne bons grand grande petit petite nouveau nouvelle nouveaux
        nouvelles vieux vieille mieux pire presque seulement peut-être ensuite enfin surtout plutôt afin
        lors lorsque puisque fois svp plaît
    """,
    "ru": """
        знает знаете знаешь знаю знать знают думает думаете думаю думать нравится любит считает
        этой этим этими этому эту тех тем теми тою той том тому мои моим моей моих своей своим своих своему
        нашей нашу нашим наших нашем вашей вашу ваших вашего одной одного одну одном других другого другой
        другом каждый каждая каждую каждое каждого весь вся всю всё всем всеми самого самой кем чем которую
        которым котором которыми будто какую каких какому каком чьи ими него неё ними и в во не что он на я
        с со как а то все она так его но да ты к у же вы за бы по только ее её мне было вот от меня еще ещё
        нет о об из ему теперь когда даже ну вдруг ли если уже или ни быть был до вас нибудь опять уж вам
        ведь там потом себя ничего ей может они тут где есть надо ней для мы тебя их была сам чтоб чтобы
        без чего раз тоже себе под будет ж тогда кто этот того потому этого какой какая какое какие каким
        совсем ним здесь этом один одна одно почти мой моя мое моего нее сейчас были куда зачем всех
        никогда можно при наконец два две три четыре пять другая другие хоть после над больше тот через эти
        эта это нас про всего них много разве сказал сказала сказали свой своя свои своего перед иногда
        лучше чуть нельзя такой такая такие им более всегда конечно между наш наша наше наши нашего нам
        вами нами ваш ваша ваши твой твоя которая который которые которое которого которой очень пока
        просто почему откуда сколько зато также хотя пожалуйста нужно нужен нужна нужны хочу хочет хотим
        хотят могу можем могут можете должен должна должны буду будем будут делать сделать сделал сделали
        делает идет идёт пришел пришёл пришла пришли дай дайте давай давайте кого кому ком чему чей чья чье
        первый первая второй вторая последний последняя следующий следующая сегодня завтра вчера утром
        вечером днем днём ночью снова быстро хорошо плохо хороший новый новая новое новые старый старая
        старые большой маленький самый самая именно вообще наверное возможно насчет насчёт около кроме
        вместо против среди ради однако поэтому итак значит кажется сразу скоро давно
    """,
}

# Han and kana runs have no spaces: these entries are cut out of a run by longest match. One-character entries are only
# cut where no single character is left over, so that a word that contains one of them stays whole.
STOP_HAN = """
    的 和 与 與 及 或 在 了 是 有 吗 嗎 呢 吧 啊 呀 哦 把 被 让 讓 就 都 也 还 還 很 请 請 我 你 您 他 她
    它 们 們 这 這 那 个 個 哪 谁 誰 要 去 来 來 对 對 给 給 从 從 到 为 為 上 下 里 裡 中 不 没 沒 会 會
    能 想 看 说 說 做 最 再 又 才 只 太 更 已 吃 几 幾 多 少 大 小 什么 什麼 怎么 怎麼 怎样 怎么样 怎么办
    如何 哪里 哪裡 哪个 哪些 哪位 为什么 為什麼 为何 是否 是不是 有没有 能不能 可不可以 要不要 关于 關於
    以及 或者 还有 還有 另外 而且 但是 但 不过 不過 因为 因為 所以 如果 虽然 然后 然後 并且 已经 已經 正在
    刚才 刚刚 马上 现在 現在 目前 今天 明天 昨天 昨晚 今晚 后天 晚上 早上 上午 下午 凌晨 周末 这周 本周
    下周 上周 每天 每周 每月 本月 下个月 上个月 这个月 今年 去年 明年 最近 以前 以后 之前 之后 上次 下次
    这次 那次 时候 的时候 有时 我们 我們 你们 你們 他们 他們 她们 咱们 大家 各位 自己 别人 某人 有人 有些
    有点 一些 一个 一個 一下 一起 一直 一样 一份 一条 两个 几个 几次 多少 这个 這個 那个 那個 这些 這些
    那些 这里 那里 这边 那边 这样 那样 这么 那么 需要 可以 应该 應該 可能 必须 必須 想要 希望 觉得 觉的
    知道 认为 看看 看到 看一下 说一下 问一下 请问 請問 麻烦 帮忙 帮我 是什么 没有 沒有 不是 不要 不能 不会
    不了 起来 出来 进来 下来 上来 下去 过来 过去 出去 好像 其实 就是 还是 只是 只有 都有 非常 特别 特別
    真的 比较 比較 の と や は が を に で も へ か から まで より など って とか との には では とは での
    への からの までの として について に関する に関して における に対する に対して によって ための ため
    ので のに けど けれど けれども だけ しか ばかり くらい ぐらい ほど ところ こと もの とき する した して
    します しました している していた しています したい したいです できる できない できません なる なった
    なって ある あります ありました ない なかった いる います いました いたい れる られる せる です でした
    だった ます ました ません ください 下さい でしょうか ですか ますか ましたか でしょう かな かも
    かもしれません そう という といった みたい よう ような ように これ それ あれ どれ この その あの どの
    ここ そこ どこ どう どうして どうやって どんな なぜ なに 何 いつ だれ どちら こちら そちら 私 僕 俺
    私たち 皆 皆さん みなさん みんな 誰か 何か 何が 何を もう まだ また とても すごく 少し ちょっと もっと
    一番 全部 全て すべて 今日 明日 昨日 今夜 今朝 今週 来週 先週 今月 来月 先月 来年 先日 午前 午後 時間
    時 後 前 間 方 お ご
"""

STOP_HANGUL = """
    나는 나도 내가 너는 저는 제가 저도 그는 것이 것은 것을 것도 것만 수가 수는 수도 때는 때도 때에 게요
    거예요 건가요 분이 분은 분들 이 그 저 것 거 수 등 및 또 또는 그리고 그런데 그래서 하지만 그러나 그러면
    만약 왜 어떻게 무엇 뭐 뭘 뭔가 어디 언제 누구 누가 어느 어떤 무슨 몇 얼마나 나 너 저희 우리 제 내 네
    여러분 모두 다 좀 더 덜 아주 매우 너무 정말 진짜 많이 조금 거의 이미 아직 다시 계속 항상 자주 가끔 지금
    현재 오늘 내일 어제 모레 아침 저녁 오전 오후 이번 다음 지난 올해 작년 내년 주말 주 달 년 일 월 시 분 때
    동안 전 후 위 아래 안 밖 앞 뒤 옆 여기 거기 저기 이런 그런 저런 이것 그것 이거 그거 저거 위한 위해 대한
    대해 관한 관련 통해 따라 같은 같이 함께 혼자 모든 각 한 두 세 번 개 명 곳 쪽 데 게 줄 만큼 정도 때문
    경우 있다 없다 있는 없는 있나 없나 있어 없어 있어요 없어요 있나요 없나요 있습니다 없습니다 하다 하는 할
    해 해요 했다 했어 했어요 합니다 했습니다 하고 하면 하기 해서 해도 하지 해야 되다 되는 될 된 돼 돼요
    됐다 됐어요 됩니다 됐습니다 되고 되면 되나요 될까요 주세요 주시면 줘 주다 좋다 싶다 싶어요 싶은 보다 봐
    봐요 보고 본 알다 알려 알려주세요 모르다 모르겠어요 이다 입니다 이에요 예요 인가요 인데 이고 아니다
    아니 아니요 안돼요 않다 않는 않아요 못 가다 가는 가요 갔다 오다 오는 와요 왔다 왔어요 나다 났다 났어요
    말 말하다 말씀 가지 가진 새 새로 좋은 나쁜 큰 작은 많은 적은 오래된 첫 마지막
"""

PARTICLES = """
    은 는 이 가 을 를 의 에 에서 에게 에게서 한테 한테서 께 께서 으로 로 으로서 로서 으로써 로써 와 과 랑
    이랑 하고 도 만 까지 부터 마다 처럼 보다 밖에 조차 마저 나 이나 든지 이든지 라도 이라도 요 이요 들 들이
    들은 들을 에는 에도 에서는 에서도 으로는 로는 까지는 부터는 이라는 라는 이란 란 이라고 라고 인데 이야
    야 님 님이 님께 씨 씨가 때문에 관련 하다 하는 한 할 해 해요 했다 했어 했어요 했나요 했는데 했습니다
    합니다 합니까 하면 하면서 하기 하려고 하려면 하려는 해서 해도 해야 해주세요 해줘 하자 하나요 할까요
    할게요 했던 하던 하지 하셨어요 하시는 하게 되다 되는 된 될 돼 돼요 됐다 됐어요 됐나요 됐는데 되었습니다
    됩니다 되고 되면 되나요 될까요 되어 되었 됐습니다 되지 입니다 입니까 이에요 예요 인가요 일까요 이었어요
    였어요 였습니다 이었습니다 났어요 났다 났습니다 나요 났는데 나서
"""

# The only one-character Han words that cut a scenario's run: all others are a part of a longer word too often.
CONNECTIVES_HAN = "的和与與及或跟并並"
