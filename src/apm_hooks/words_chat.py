"""Small talk.

Words that greet, thank, laugh or agree (protocol, section 5, step 2: small talk loads nothing). Plain data.
`CHAT` words are no topic anywhere. `PLEASANT` words are topics of some rows, but a message that holds
nothing else is small talk.
"""

from __future__ import annotations

CHAT = """
    hi hello hey hiya yo howdy morning afternoon evening night goodnight welcome bye goodbye cya thanks
    thank thx ty tysm cheers congrats congratulations congratul happy happi enjoy lovely love nice great
    awesome amazing amaz cool wow yay yeah yep yup nope ok okay okey kk k alright fine perfect excellent
    brilliant wonderful lol lmao rofl haha hehe hmm hm oh ah oops sorry np brb afk gn gm gl hf omg funny
    glad pleasure beautiful cute sweet agreed agree indeed exactly luck guys folks all everyone team
    friends buddy mate bro dude cu laughing hilarious hilari moin hallo servus grüezi tschüss tschau ciao
    danke dankeschön dank lieben liebe herzlich herzlichen glückwunsch schönes schönen schöne schön klar
    prima super toll genau stimmt guten nacht abend grüße gruß zusammen alles hallöchen entschuldigung
    verzeihung freut freue vielen hola buenas buenos buen días tardes noches gracias adiós chao saludos
    feliz felicidades perfecto vale genial claro guay jaja jajaja qué tal bienvenido bienvenida perdón
    disculpa encantado abrazo besos bonito bonjour bonsoir salut coucou merci bonne bonnes soirée nuit week
    génial parfait accord mdr ptdr bravo félicitations joyeux bienvenue pardon désolé bises bisous ça va
    top привет здравствуйте здравствуй доброе добрый доброй доброго утро утра вечер вечера ночи спасибо
    благодарю пока свидания пожалуйста поздравляю поздравляем ок окей ага угу понял поняла понятно ясно
    круто отлично супер класс точно хорошего хорошо дела спокойной всем всех большое лол ахах ахаха хаха
    извини извините удачи hearts cheer bless kudos ta later laters congratz grats mhm yikes ouch whoa woah
    aww aw eh huh nah yessir roger ack lgtm gotcha merry safe travels sleep well pleased proud hug hugs
    xoxo anytime sir madam fella fellas ladies gentlemen buddies pal pals dears dear freunde lieber viel
    spaß erfolg gute gern gerne geschehen macht nix egal schade hurra juhu feierabend mahlzeit moinsen jo
    jap jup nö passt schlaft schlaf besserung herzlichst amigos amigo amiga amigas compañeros equipo saludo
    ánimo suerte enhorabuena descansa descansad descansen igualmente nada jeje jejeje ole olé uf vaya lindo
    precioso bienvenidos amis ami amie amies copains chers chère cher bon courage chance tant mieux dommage
    hihi ouais nan dac d'acc impec nickel chouette formidable magnifique félicitation santé друзья друг
    ребята народ коллеги дорогие здоровья счастья молодец молодцы ура здорово ого ничего страшного взаимно
    обнимаю хехе хихи ясненько ладно пожалуй приветик здрасте здрасьте
"""

CHAT_HAN = """
    你好 您好 早 早安 早上好 上午好 下午好 晚上好 晚安 再见 拜拜 谢谢 謝謝 多谢 感谢 谢了 辛苦 辛苦了 好的
    好 好吧 收到 明白 了解 知道了 可以 行 嗯 嗯嗯 哈哈 哈 呵呵 嘿嘿 嘻嘻 太棒了 棒 厉害 牛 赞 恭喜 生日快乐
    新年快乐 节日快乐 快乐 加油 没事 没关系 不客气 对不起 不好意思 抱歉 开心 周末愉快 愉快 欢迎 啦 哇 喔 噢
    おはよう おはようございます こんにちは こんばんは おやすみ おやすみなさい さようなら またね じゃあね
    ありがとう ありがとうございます ありがとうございました どうも どういたしまして お疲れ お疲れ様
    お疲れさま お疲れさまです お疲れさまでした お疲れ様です お疲れ様でした 了解です 承知 承知しました
    わかりました 分かりました はい いいえ うん すごい 素晴らしい おめでとう おめでとうございます 笑 草
    すみません ごめん ごめんなさい よろしく よろしくお願いします お願いします よろしくお願いいたします
    楽しい 嬉しい いいね 最高 やった ございます なるほど 良い いい ハハハ オッケー ナイス 朋友们 伙伴们
    各位早 大家好 大家早 早呀 回见 明天见 下周见 么么哒 哈喽 哈罗 嗨 好滴 好嘞 好哒 OK 没问题 没毛病 不错
    真好 太好了 漂亮 牛逼 给力 点赞 祝 祝贺 恭喜恭喜 新年好 春节快乐 中秋快乐 圣诞快乐 晚点见 休息 好好休息
    保重 注意身体 抱抱 泪目 笑死 笑哭 同意 赞同 是的 对的 嗯呢 哦哦 好呀 行吧 皆様 お元気 元気 頑張って
    頑張ってください お大事に おつかれ おつです 乙 ようこそ はじめまして いただきます ごちそうさま
    いってきます ただいま おかえり 失礼します 失礼しました そうですね そうです なるほどです 同感 賛成
    さすが かわいい 可愛い えらい うれしい 楽しみ 楽しみです よかった 良かったです やばい わーい
"""

CHAT_HANGUL = """
    안녕 안녕하세요 안녕하십니까 안녕히 반가워 반갑습니다 네 넵 넹 예 응 아니요 감사 감사합니다 감사해요
    고마워 고마워요 고맙습니다 수고 수고하세요 수고하셨습니다 수고했어요 고생 고생하셨습니다 축하 축하해요
    축하합니다 축하드려요 생일 화이팅 파이팅 좋아요 좋네요 좋습니다 알겠습니다 알겠어요 오케이 굿 대박 최고
    최고예요 하하 헤헤 죄송 죄송합니다 미안 미안해요 잘자요 주무세요 환영 환영합니다 즐거운 행복한 좋은
    아침 아침이에요 밤 되세요 보내세요 하세요 친구들 여러분 반가워요 잘 잘했어요 멋져요 멋지다 예뻐요
    귀여워 힘내세요 힘내요 화이팅이에요 고맙다 땡큐 오키 ㅇㅋ 그래요 그렇군요 그러게요 맞아요 동의 동의해요
    어서오세요 들어가세요 푹 쉬세요 조심히 다녀오세요 다녀올게요 건강하세요 새해 복 받으세요 메리
    크리스마스 부탁드려요 부탁드립니다 안녕히가세요 굿모닝 굿나잇 잘가요 또 봐요 내일 봬요
"""

PLEASANT = """
    birthday birthdays weekend weekends holiday holidays vacation lunch coffee dinner breakfast brunch
    christmas xmas easter party beer tea cake sun sunny rain rainy snow snowy hot cold weather day days
    year friend friends tired hungry sleepy home kids fun geburtstag wochenende urlaub ferien mittag
    mittagessen kaffee frühstück weihnachten ostern feier bier tee kuchen sonne regen schnee wetter hunger
    müde heim feiertag feiertage tag jahr cumpleaños finde fin vacaciones almuerzo café cena desayuno
    navidad pascua fiesta cerveza té pastel sol lluvia nieve tiempo calor frío hambre cansado cansada año
    día anniversaire journée soirée week-end end vacances déjeuner dîner noël pâques fête bière thé gâteau
    soleil pluie neige temps chaud froid faim fatigué fatiguée année monde рождения выходные выходных
    праздник праздником праздники отпуск обед кофе ужин завтрак новым годом рождеством пасха вечеринка пиво
    чай торт солнце дождь снег погода жарко холодно устал устала домой дня день
"""

PLEASANT_HAN = """
    生日 周末 假期 午饭 午餐 晚饭 晚餐 早餐 咖啡 奶茶 蛋糕 圣诞 新年 春节 中秋 天气 下雨 下雪 太阳 困 饿 累
    誕生日 週末 休み お休み ランチ コーヒー お昼 ご飯 晩ご飯 クリスマス お正月 天気 雨 雪 お腹 眠い 疲れた
"""

PLEASANT_HANGUL = """
    생일 주말 휴일 점심 커피 저녁 아침 케이크 크리스마스 새해 날씨 비 눈 배고파 배고파요 졸려 졸려요 피곤해
    피곤해요 퇴근
"""
