"""Tables where they pay (protocol, section 5, step 2: stemming).

Plain data. `FAMILIES` are words of work talk that no stemmer brings together (`paid`, `payment`), one family
a line. The other two are words that begin like a generic word, or hold one, and are a topic of their own.
"""

from __future__ import annotations

FAMILIES = """
pay pays paid paying payer payment payments payout payouts
ship ships shipped shipping shipment shipments
subscribe subscribes subscribed subscriber subscribers subscription subscriptions
maintain maintains maintained maintaining maintenance maintainer maintainers
deploy deploys deployed deploying deployment deployments redeploy redeployed redeployment
sell sells sold selling seller sellers sale sales resell
lose loses lost losing loss losses
teach teaches taught teaching teacher teachers
index indexes indices indexing indexed reindex
matrix matrices
analysis analyses analyse analyze analysed analyzed analysing analyzing analyst analytics
child children
choose chose chosen choosing choice choices
build builds built building rebuild
hire hires hired hiring rehire
secure secured security insecure
deliver delivers delivered delivering delivery deliveries undelivered
authenticate authenticates authenticated authentication auth
configure configured configuring configuration configurations config configs reconfigure
administrator administrators administration admin admins
document documentation docs
repository repositories repo repos
database databases db
application applications app apps
advertise advertising advertisement advertisements advert adverts ad ads
translate translates translated translating translation translations translator translators
approve approves approved approving approval approvals
renew renews renewed renewing renewal renewals
propose proposed proposing proposal proposals
remove removed removing removal
hold held holding
grow grew grown growth growing
speak spoke spoken speaker speakers speech speeches
fly flew flown flight flights
drive drove driven driver drivers
enrol enroll enrolled enrolling enrolment enrollment
arrive arrives arrived arrival arrivals
depart departs departed departure departures
describe described description descriptions
reduce reduced reducing reduction reductions
produce produced producing production
receive received receiving receipt receipts reception
argue argued argument arguments
retain retained retention
expire expires expired expiring expiry expiration
leave leaves leaving
zahlen zahlt zahlte gezahlt zahlung zahlungen bezahlen bezahlt bezahlung bezahlungen
buchen bucht gebucht buchung buchungen umbuchen umgebucht umbuchung
liefern liefert geliefert lieferung lieferungen lieferant lieferanten auslieferung anlieferung
operieren operiert operation operationen
reparieren repariert reparatur reparaturen
installieren installiert installation installationen
impfen impft geimpft impfung impfungen impfstoff
prüfen prüft geprüft prüfung prüfungen überprüfen überprüft überprüfung
übersetzen übersetzt übersetzung übersetzungen übersetzer übersetzerin
schließen geschlossen schließung schließungen
verlieren verloren verlust verluste
verkaufen verkauft verkauf verkäufe verkäufer
einkaufen eingekauft einkauf einkäufe einkäufer
versenden versendet versand versandt verschicken verschickt
einladen eingeladen einladung einladungen
ausschreiben ausgeschrieben ausschreibung ausschreibungen
unterschreiben unterschrieben unterschrift unterschriften
bewerben beworben bewerbung bewerbungen bewerber bewerberin
abrechnen abgerechnet abrechnung abrechnungen
absagen abgesagt absage absagen
anmelden angemeldet anmeldung anmeldungen
abmelden abgemeldet abmeldung
einstellen eingestellt einstellung einstellungen
umziehen umgezogen umzug umzüge
arzt ärztin ärzte ärztinnen
devolver devuelve devuelven devolvieron devuelto devuelta devolución devoluciones
inscribir inscribirse inscrito inscrita inscritos inscripción inscripciones
traducir traduce traducido traducida traducción traducciones traductor traductora
examen exámenes examinar
reducir reducido reducción reducciones
producir producido producción
vender vende vendió vendido vendida venta ventas vendedor
despedir despedido despido despidos
crecer crecimiento
mover movido movimiento
cerrar cierra cierran cerrado cierre cierres
abrir abierto apertura aperturas
perder perdido pérdida pérdidas
averiar averiado averiada avería averías
entregar entrega entregas entregado
livrer livre livré livrée livrés livraison livraisons livreur
inscrire inscrit inscrite inscrits inscription inscriptions
traduire traduit traduite traduction traductions traducteur traductrice traducteurs traductrices
vendre vend vendu vendue vendus vente ventes vendeur vendeuse
payer paie payé payée paiement paiements
imprimer imprime imprimé imprimée imprimés impression impressions imprimeur imprimeurs imprimerie
travail travaux
journal journaux
réduire réduit réduction réductions
produire produit production productions
construire construit construction constructions
perdre perdu perdue perte pertes
répondre répondu réponse réponses
ouvrir ouvert ouverture ouvertures
fermer fermé fermeture fermetures
recevoir reçu réception
auteur auteurs autrice autrices
вернуть вернули вернул верните возвращать возврат возвраты возврата возвратов возврате
оплатить оплатили оплачен оплачена оплачено оплата оплаты оплату оплате платить платеж платежи платежей
жалоба жалобы жалоб жалобу жаловаться жалуется жалуются пожаловался пожаловалась пожаловались
ремонт ремонта ремонте ремонты ремонтировать отремонтировать отремонтировали починить
продать продали продаем продаём продажа продажи продаж продажу
купить купили покупать покупка покупки покупок покупку закупка закупки закупок закупить закупили
перевести перевели переведен переведены переводить перевод переводы перевода переводчик переводчики
нанять наняли нанимать найм найма
уволить уволили увольнение увольнения
рисовать нарисовать нарисовали рисунок рисунки
выпустить выпустили выпуск выпуски выпуска
отправить отправили отправлен отправка отправки отправку
доставить доставили доставлен доставлять доставка доставки доставку доставке
отгрузить отгрузили отгружен отгрузка отгрузки отгрузку
заказ заказы заказа заказов заказу заказать заказали заказал заказывать заказчик заказчика заказчики
налог налоги налога налогов налоговая налоговой налоговый налоговые
деньги денег деньгам деньгами деньгах
таможня таможни таможне таможню таможенный таможенная таможенного таможенные
"""

# A word that begins with a generic one, or would be cut at one, is a topic of its own.
WHOLE_HAN = """
    数据库 數據庫 数据集 数据线 服务器 伺服器 服务员 客户端 用户名 用户组 会议室 會議室 会议纪要 文件夹
    文件柜 项目组 项目部 工作台 工作流 工作室 测试版 测试集 管理员 管理费 计划书 报告厅 系统盘 电话费
    联系人 联系方式 负责人 功能表 设置页 安排表 记录仪 规则集 需求方 需求池 要求书 对账 对接 对象 对比 请假
    请款 在线 在职 上线 上架 下架 上传 下载 上课 下单 会员 会计 中秋 大促 小程序 小组 多语言 新人 新品 新版
    去重 回来 请求 邀请 申请 和解 主要 会议 纪要 摘要 目的 目的地 参与者 有效期 有机 还款 归还 到期 到货
    到账 看板 看护 想法 说明书 做法 让利 给付 更衣室 更正 会員 会計 会場 会社 会話 会費 中止 中間テスト
    請求 請求書 申請 給与 給料 給食 有給 有料 有害 新規 新作 新刊 新商品 時給 時刻 時計 前払い 前売り
    後払い 後輩 大会 大学 小説 小学校 事務 事故 人事 人材 人気 件数 方針 方角 上司 上映 下書き 下請け 要件
    対戦 対局 要約 要望書 報告書 計画書 説明書 説明会 資料室 使用料 利用料 利用規約 設定資料 管理人 管理費
    電話番号 連絡網 連絡先 担当者 結果発表 写真館 家賃 家具 家族
"""

WHOLE_HANGUL = """
    데이터베이스 데이터센터 회의록 회의실 팀장님 페이지뷰 파일럿 코드리뷰 고객센터 방법론 상태창 계획서
    결과물 설명서 설명회 보고회 관리자 관리비 처리장 이용권 이용자 사용법 사용기 주문서 학교생활 가격표
    전화번호 시스템즈 서비스센터 업무일지 질문지 정보처리 내용물 시간표 시간대 장소팅 이유식 사람들 정리함
    준비물 진행자 일정표 요청서
"""
