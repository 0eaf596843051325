"""Small talk: words that greet, thank, laugh or agree (protocol, section 5, step 2: small talk loads nothing). Plain data."""

from __future__ import annotations

CHAT = """
    hi hello hey hiya yo howdy morning afternoon evening night goodnight welcome bye goodbye cya thanks
    thank thx ty tysm cheers congrats congratulations congratul happy birthday happi weekend holiday
    holidays enjoy lovely love nice great awesome amazing amaz cool wow yay yeah yep yup nope ok okay okey
    kk k alright fine perfect excellent brilliant wonderful lol lmao rofl haha hehe hmm hm oh ah oops sorry
    np brb afk gn gm gl hf omg fun funny glad pleasure beautiful cute sweet agreed agree indeed exactly
    luck guys folks all everyone team friends buddy mate bro dude cu laughing hilarious hilari moin hallo
    servus grüezi tschüss tschau ciao danke dankeschön dank lieben liebe herzlich herzlichen glückwunsch
    geburtstag wochenende schönes schönen schöne schön klar prima super toll genau stimmt guten nacht abend
    tag grüße gruß zusammen alles hallöchen entschuldigung verzeihung lecker freut freue vielen hola buenas
    buenos buen días tardes noches gracias adiós chao saludos feliz cumpleaños felicidades perfecto vale
    genial claro guay jaja jajaja qué tal finde fin bienvenido bienvenida perdón disculpa encantado abrazo
    besos bonito bonjour bonsoir salut coucou merci bonne bonnes soirée journée nuit week-end week end
    génial parfait accord mdr ptdr bravo félicitations anniversaire joyeux bienvenue pardon désolé bises
    bisous ça va top monde привет здравствуйте здравствуй доброе добрый доброй доброго утро утра вечер
    вечера ночи дня спасибо благодарю пока свидания пожалуйста поздравляю поздравляем рождения праздником
    ок окей ага угу понял поняла понятно ясно круто отлично супер класс точно хорошего хорошо дела
    спокойной всем всех большое лол ахах ахаха хаха извини извините удачи выходных
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
    楽しい 嬉しい いいね 最高 やった ございます なるほど 誕生日 良い いい 週末 ハハハ オッケー ナイス
"""

CHAT_HANGUL = """
    안녕 안녕하세요 안녕하십니까 안녕히 반가워 반갑습니다 네 넵 넹 예 응 아니요 감사 감사합니다 감사해요
    고마워 고마워요 고맙습니다 수고 수고하세요 수고하셨습니다 수고했어요 고생 고생하셨습니다 축하 축하해요
    축하합니다 축하드려요 생일 화이팅 파이팅 좋아요 좋네요 좋습니다 알겠습니다 알겠어요 오케이 굿 대박 최고
    최고예요 하하 헤헤 죄송 죄송합니다 미안 미안해요 잘자요 주무세요 환영 환영합니다 즐거운 행복한 좋은
    아침 아침이에요 밤 되세요 보내세요 하세요
"""
