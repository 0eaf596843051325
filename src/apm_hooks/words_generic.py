"""Words that stand in every trade's talk (protocol, section 5, step 2: such words carry little).

Plain data. `VOID` words never decide alone. `COMMON` words decide alone only in a message that says nothing
else. `LIGHT` words are full topics where a row names one by itself, and weigh less inside a longer phrase.
Entries of inflected languages stand with their Snowball stem where it differs.
"""

from __future__ import annotations

VOID = """
    project projects issue issu issues thing things work working works job jobs help helping problem
    problems question questions topic topics stuff matter item items need needs needed find found finding
    ask asks asking asked answer talk talking conversation convers discussion discuss anyone idea ideas advice
    advic example exampl case cases part parts place places time times day days week weeks month months
    year years hour hours minute minut moment people person everything related relat regarding concerning
    general generic gener current new info information inform detail details number numbers name names word
    words happen happens happened happening start started stop stopped change changed changes chang
    different differ important import interesting interest projekt projekte projekten arbeit arbeiten sache
    sachen ding dinge probleme problemen frage fragen hilfe hilf helfen thema themen beispiel fall fälle
    teil teile ort zeit tag tage woche wochen monat monate jahr jahre stunde leute mensch menschen personen
    informationen wort ändern änderung allgemein wichtig suche suchen finden gefunden idee ideen jemanden
    proyecto proyect proyectos cosa cosas cos trabajo trabaj trabajos trabajar problema problemas asunto
    asunt tema temas tem ayuda ayud ayudar pregunta pregunt preguntas caso cas parte lugar tiempo tiemp día
    días dia semana seman semanas mes año gente gent persona personas información nombre nombr ide cambio
    cambi cambiar importante necesito necesit necesita necesitar necesitamos buscar busc encontrar encontr
    projet projets chose choses chos travail travaux travailler travaill problème problèmes sujet sujets
    aide aid aider exemple exempl partie lieu temps jour jours semaine semain mois année anne ans an gens
    gen nom idée idé idees besoin chercher cherch trouver trouv changer changement проект дело дела дел
    вещь вещ работа работ работать работает работы проблема проблем вопрос помощь помощ помоги помогите
    помог тема тем случай случа часть част место мест время врем день дня дни дн неделя недел месяц год
    года лет час человек люди люд информация информац имя идея иде пример важно важный важн изменить
    изменен найти нашел нашёл нашл ищу совет советом gespräch gespräche conversación conversaciones chat
    chats разговор разговоры разговора общение обсуждение discussions charla debate anything otro autre
    andere anderes sonstiges rest reste resto остальное
"""

COMMON = """
    usage due provide provides provided provid include includes included contain contains contained
    require requires required allow allows allowed enable enables enabled handle handles handled manage
    manages managed create creates created creat show shows shown status report reports update updates
    updated updat plan plans planned planning team teams meeting meetings meet list lists review reviews
    check checks checking checked role roles member members group groups office offic process request
    requests rule rules setting settings set add added adding remove remov removed run running history
    histori past previous overview summary summari active activ pending note notes page pages line lines
    tool tools own owns owned current send sent sending open opened close closed write written read
    message messages messag progress bericht berichte treffen termin termine liste listen prüfung prüfen
    rolle gruppe büro prozess regel regeln offen offene offenen notiz nachricht seite seiten stand pläne
    estado informe informes inform equipo equip reunión reunion lista grupo grup oficina oficin proceso
    proces regla regl página pagin nota mensaje mensaj pendiente pendientes pendient état etat rapport
    rapports équipe équip réunion groupe bureau règle règl cours point статус отчет отчёт план планы
    команда команд встреча встреч список списк проверка проверк группа групп офис процесс правило правила
    прав страница страниц заметка сообщение сообщен текущие текущий текущ срок сроки
"""

LIGHT = """
    support supports supported supporting api apis app apps post posts posted posting share shared
    sharing upload uploaded owner owners user users client clients customer customers custom order orders
    service services servic system systems data file files document documents mail email emails phone
    phones account accounts access key keys code version versions price prices cost costs money error
    errors bug bugs fail fails failed failing failure failur broken break breaks fix fixes fixed fixing
    test tests testing call calls charge book books photo photos picture school house home kunde kunden
    nutzer benutzer dienst dienste daten datei dateien dokument telefon telefone zugang konto preis
    preise geld kosten fehler kaputt haus schule anfrage cliente clientes usuario usuari usuarios
    servicio servici servicios sistema sistem datos dat archivo archiv documento teléfono teléfonos
    versión cuenta cuent precio preci precios dinero diner prueba prueb errores fallo fall casa cas
    escuela colegio colegi utilisateur utilis système données don fichier fichi téléphone compte compt
    prix argent essai erreur erreurs panne maison école клиент клиенты пользователь пользовател сервис
    система систем данные дан файл документ телефон телефоны версия верс доступ цена цен деньги деньг
    ошибка ошибки ошибк тест дом школа школ decision decisions decis task tasks aufgabe aufgaben aufgab
    tarea tareas tare tâche tâches tâch задача задачи задач
"""

# Days that a row may name by themselves ("yesterday"); elsewhere they say when, not what.
DAYS = """
    today yesterday tomorrow heute gestern hoy ayer aujourd'hui сегодня вчера
"""

VOID_HAN = """
    问题 問題 项目 項目 工作 事情 事 东西 東西 相关 相關 情况 情況 内容 內容 信息 方面 话题 對話 对话 任何
    所有 关键 建议 帮助 办法 方法 例子 地方 时间 時間 人 件 个人 重要 新的 新しい 新 仕事 作業 情報 事項
    事柄 話題 関連 全般 一般 場合 理由 意見 相談 質問 困って 助けて 教えて ほしい 欲しい 会話 消息 其他
    其它 杂项 その他 雑談 聊天
"""

COMMON_HAN = """
    番号 号码 編號 编号 方式 优化 分析 支持 开发 研究 维护 基準 開発 改善 支援 流程 管理
    处理 處理 进度 進度 状态 狀態 更新 计划 計劃 报告 報告 会议 會議 团队 團隊 列表 设置
    检查 记录 規則 规则 要求 当前 當前 历史 更换 准备 安排 整理 操作 说明 介绍 总结 标准
    状況 進捗 予定 計画 会議 資料 一覧 確認 対応 対策 設定 変更 手順 手続き 履歴 過去 要望
    課題 現在 準備 用意 利用 説明 評価 結果 今日の チーム リスト メンバー
"""

LIGHT_HAN = """
    设计 設計 失敗 运营 合作 接口 文件 文档 数据 系统 系統 用户 用戶 客户 客戶 顾客 服务
    服務 功能 配置 测试 错误 失败 需求 联系 电话 使用 价格 学习 学校 孩子 記録 電話 連絡
    担当 値段 価格 子供 緊急 テスト エラー データ システム ファイル ユーザー メール サービス
    バグ 任务 任務 决定
"""

VOID_HANGUL = """
    문제 프로젝트 일 것 업무 작업 질문 도움 사항 내용 정보 이야기 얘기 대화 관련 방법 부분 사람 시간 장소
    이유 의견 주제 예 도와 도와주세요 추천 추천해 중요한 중요 기타 나머지 잡담
"""

COMMON_HANGUL = """
    상태 현황 계획 일정 회의 팀 목록 확인 검토 수정 변경 업데이트 관리 처리 진행 문서 메모 그룹 규칙 설정
    결과 준비 정리 이용 설명 보고 보고서 방법 절차 할일
"""

LIGHT_HANGUL = """
    테스트 오류 에러 버그 실패 사용자 고객 손님 서비스 시스템 데이터 파일 페이지 메일 전화 버전 코드 계정
    요청 사용 가격 돈 집 학교 주문
"""

# What people say when they need a standard file, beyond its row's words. A word of `HINTS` is half an answer.
VOCABULARY = {
    "attention": """
        blocker blockers blocking blockade блокер блокеры 阻塞 待办 ブロッカー 블로커
    """,
    "project": """
        architecture architectures framework frameworks codebase stack architektur arquitectura архитектура
        архитектуре архитектуру фреймворк фреймворки 架构 技术栈 框架 アーキテクチャ フレームワーク
        技術スタック 아키텍처 프레임워크 기술스택
    """,
    "experience": """
        postmortem postmortems retrospective retro hindsight retrospektive retrospectiva rétrospective
        ретроспектива ретроспективе 踩坑 踩过 教训 复盘 教訓 振り返り 反省 회고 교훈
    """,
    "people": """
        ansprechpartner ansprechpartnerin zuständig encargado encargada ответственный ответственная 负责人
        谁负责 联系人 对接人 找谁 问谁 担当者 連絡先 誰に聞け 誰に聞い 담당자 연락처 누구한테 누구에게
    """,
    "longterm": """
        longterm langfristig 长期 長期 장기
    """,
    "daily-synced": """
        日报 日報 일보
    """,
}

HINTS = {
    "attention": """
        blocked stuck urgent priority priorities deadline deadlines due todo todos pending overdue asap
        blockiert dringend frist fristen fällig priorität urgente urgencia pendiente pendientes plazo
        bloqueado urgence bloqué échéance срочно срочный срочная дедлайн приоритет 紧急 卡住 截止 优先级
        緊急 締め切り 期限 急ぎ 긴급 급한 마감 막혔
    """,
    "project": """
        design structure structur database language languages library libraries built repository repo
        convention conventions technology technologies choose chose chosen aufbau struktur sprache sprachen
        datenbank datenbanken technologie gewählt lenguaje lenguajes estructura tecnología elegimos langage
        langages bibliothèque choisi язык языки языке структура базу база технологии выбрали 语言 结构 选型
        数据库 言語 設計 構成 技術 데이터베이스 언어 구조 설계 기술 쓰기로
    """,
    "experience": """
        lesson lessons learn learned learnt learning mistake mistakes wrong experience experiences decide
        decided before again why earlier lernen gelernt lektion fehler erfahrung erfahrungen entschieden
        warum damals früher aprender aprendimos aprendido lección lecciones experiencia decidimos antes
        porqué apprendre appris leçon leçons expérience décidé pourquoi научились опыт опыта решили почему
        раньше 经验 吸取 坑 以前 当初 为什么 上次 失敗 学び 学ん 経験 前回 なぜ 실수 경험 배운 배웠 예전
        지난번 왜
    """,
    "people": """
        who whom contact contacts owner responsible colleague colleagues reach maintainer expert ask wer
        wen wem kollege kollegen kollegin anrufen kontakt verantwortlich quién quien quiénes contacto
        responsable responsables llamar encarga qui collègue collègues appeler кто кому кого контакт
        контакты отвечает коллега позвонить 谁 哪位 负责 联系 同事 誰 担当 聞けば 누구 누가 담당 물어
        물어보면
    """,
    "longterm": """
        remember background preference preferences prefer always goal goals principle principles ziel ziele
        grundsatz objetivo objetivos objectif objectifs principe цель цели принцип 目标 偏好 原则 背景 目標
        方針 목표 원칙
    """,
    "daily-synced": """
        yesterday lately recent recently daily gestern neulich täglich ayer reciente recientemente hier
        récemment вчера недавно 昨天 最近 这几天 昨日 어제 최근 요즘
    """,
}
