package sandbox

import (
	"crypto/rand"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
)

// baseTime is the creation of the newest sample operation where the data do not
// run up to now. It is fixed, so that the same seed gives the same data on every day.
var baseTime = time.Date(2026, 11, 2, 8, 30, 0, 0, time.UTC).UnixNano()

// world is what sample operations refer to, drawn from the seed.
type world struct {
	seed     uint64
	newest   int64 // creation of operation 0, Unix nanoseconds
	gap      int64 // between two operations, nanoseconds; 0: the fixed rhythm of createdAt
	accounts []account
	payees   []counterparty
	byOwner  [][]int           // account numbers of each customer
	byCoin   map[coinKey][]int // account numbers of payees: those of payee n are 2n and 2n+1
}

type coinKey struct {
	customer int
	currency string
}

// newWorld is the world of data whose newest operation was created then.
func newWorld(seed uint64, newest, gap int64) *world {
	w := &world{seed: seed, newest: newest, gap: gap, byCoin: map[coinKey][]int{}, byOwner: make([][]int, len(people))}
	for c, p := range people {
		for i, cur := range p.currencies() {
			w.byOwner[c] = append(w.byOwner[c], len(w.accounts))
			w.accounts = append(w.accounts, w.account(c, i, cur))
		}
		for k, cur := range p.currencies()[1:] {
			n, key := 2*len(w.payees), coinKey{c, cur}
			w.byCoin[key] = append(w.byCoin[key], n, n+1)
			w.payees = append(w.payees, w.payee(c, k, cur))
		}
	}
	return w
}

// account draws the next account, the i-th of customer c.
func (w *world) account(c, i int, currency string) account {
	n := len(w.accounts)
	d, sums := newDice(w.seed, saltAccount, n), newDice(w.seed, saltAccount, n+1000)
	cents := sums.usualCents()
	a := account{ID: "U" + d.word(11), Customer: c, Name: currency + " main", Number: accountNumber(&d, currency),
		CurrencyCode: currency, Status: "ACCEPT", IsDefault: i == 0, AssociateType: "NOT_ASSOCIATE",
		Balance: amount{inCoin(cents*20, currency)}, Hold: amount{inCoin(cents/8, currency)},
		CreatedAt: w.before((n + 60) * 17), UpdatedAt: w.before((n + 60) * 17)}
	a.Requisites = encode([]any{patch{"title": "Details", "items": []any{
		patch{"id": "1", "key": "Account number", "value": a.Number, "order": 1},
		patch{"id": "2", "key": "Bank", "value": banks[n%len(banks)], "order": 2}}}})
	if i == 1 {
		a.Name = currency + " reserve"
	}
	switch {
	case n%17 == 3:
		a.AssociateType = "COMMISSION"
	case n%17 == 9:
		a.AssociateType = "POOL"
	case n%13 == 5:
		a.Balance.Sum = money{currency, "0", 0}
	case n%13 == 7:
		a.Balance.Sum = a.Balance.Sum.negative()
	}
	return a
}

// payee draws the next counterparty, the k-th of customer c, with two accounts.
func (w *world) payee(c, k int, currency string) counterparty {
	i := len(w.payees)
	d := newDice(w.seed, saltCounterparty, i)
	p := counterparty{Customer: c, CounterpartyID: "U" + d.word(9), Description: "supplier",
		CreatedAt: w.before((i + 40) * 29), UpdatedAt: w.before((i + 40) * 29),
		Profile: payeeProfile{Name: payees[(c*3+k)%len(payees)], Email: fmt.Sprintf("payee%02d@example.com", i+1),
			PhoneNumber: fmt.Sprintf("+1555%07d", i), Address: map[string]string{
				"addressLine1": fmt.Sprintf("%d Sample Street", i+1), "city": "Exampleton", "countryIso": "US",
				"postalCode": "00000"}}}
	bank := pick(&d, banks)
	for n := 2 * i; n < 2*i+2; n++ {
		status := "ACCEPT"
		if n%9 == 4 {
			status = counterpartyStatuses[n%7]
		}
		p.Accounts = append(p.Accounts, &payeeAccount{AccountID: "U" + d.word(11), Number: accountNumber(&d, currency),
			CurrencyCode: currency, Status: status, Name: currency + " account", Type: []string{"CHECKING", "SAVING"}[n%2],
			SupportedRails: []string{paymentTypes[rails(currency)[0]]}, Bank: map[string]string{"name": bank},
			Counterparty: map[string]string{"counterpartyId": p.CounterpartyID, "name": p.Profile.Name},
			CreatedAt:    w.before((n + 20) * 13), UpdatedAt: w.before((n + 20) * 13)})
	}
	return p
}

func accountNumber(d *dice, currency string) string {
	switch currency {
	case "EUR", "GBP":
		return "XX" + d.digits(2) + "SBOX" + d.digits(14)
	case "BTC":
		return "sb1q" + strings.ToLower(d.word(34))
	}
	return d.digits(12)
}

// draft is what the table of operations holds about a sample operation.
type draft struct {
	status, typ, pay, flags int
	parent                  int // -1: none
	customer, account       int
	account2, target        int // -1: none
	created, updated        int64
	documents               int
	documentBy, lockedOneOf int // document k is locked when (documentBy+k) % lockedOneOf == 0
}

const (
	flagVisible = 1 << iota
	flagParent
)

// exchangeRole is the place of n in a group of a parent and two children:
// every 25th operation is an exchange that shows its steps.
func exchangeRole(n int) (role int) {
	if r := n%25 - 22; r >= 0 {
		return r + 1 // 1 parent, 2 and 3 children
	}
	return 0
}

// upToNow is the world of settings whose data run up to a moment of their own.
func upToNow(st settings) *world {
	if st.Newest == 0 {
		return newWorld(st.Seed, baseTime, 0)
	}
	return newWorld(st.Seed, st.Newest, max(int64(st.Span)/int64(st.Operations), int64(time.Millisecond)*2))
}

// createdAt falls strictly with n: the order of numbers is the order of time.
func (w *world) createdAt(n int) int64 {
	const recent, near, far = 2000, 7 * int64(time.Minute), 40 * int64(time.Second)
	d := newDice(w.seed, saltOperation, n)
	back := int64(n) * near
	gap := near
	switch {
	case w.gap > 0:
		back, gap = int64(n)*w.gap, w.gap
	case n > recent:
		back, gap = (recent+1)*near+int64(n-recent)*far, far
	}
	jitter := int64(d.next()%uint64(gap/int64(time.Millisecond))) * int64(time.Millisecond)
	if n == 0 {
		jitter = 0
	}
	return w.newest - back - jitter*9/10
}

// draft draws operation n.
func (w *world) draft(n int) draft {
	group := n
	if r := exchangeRole(n); r > 1 {
		group = n - (r - 1)
	}
	d := newDice(w.seed, saltOperation, group)
	d.next() // the jitter of createdAt
	o := draft{parent: -1, account2: -1, target: -1, flags: flagVisible, created: w.createdAt(n)}
	o.account = d.below(len(w.accounts))
	o.customer = w.accounts[o.account].Customer
	o.status = drawStatus(&d)
	switch r := exchangeRole(n); {
	case r > 0:
		w.exchange(&o, &d)
		o.flags |= flagParent
		if r > 1 {
			o.flags, o.parent, o.typ = 0, group, typeTransfer
		}
	case d.chance(45):
		w.payment(&o, &d, typeWithdraw)
	case d.chance(45):
		w.payment(&o, &d, typeDeposit)
	case d.chance(60):
		w.transfer(&o, &d)
	default:
		w.exchange(&o, &d)
	}
	w.attachments(&o, n)
	w.settle(&o, group)
	o.updated = o.created
	if o.status != statusPending {
		o.updated += int64(d.below(86_400_000)) * int64(time.Millisecond)
	}
	pin(&o, n, w)
	if w.gap > 0 {
		o.updated = max(min(o.updated, w.newest), o.created) // nothing is from the future
	}
	return o
}

func drawStatus(d *dice) int {
	switch v := d.below(100); {
	case v < 20:
		return statusPending
	case v < 30:
		return statusProcessing
	case v < 79:
		return statusSuccess
	case v < 84:
		return statusCompleted
	case v < 92:
		return statusFailed
	}
	return statusCanceled
}

func (w *world) payment(o *draft, d *dice, typ int) {
	o.typ = typ
	cur := w.accounts[o.account].CurrencyCode
	o.target = pick(d, w.byCoin[coinKey{o.customer, cur}])
	o.pay = pick(d, rails(cur))
}

// transfer goes from the main account of a customer to the reserve.
func (w *world) transfer(o *draft, d *dice) {
	own := w.byOwner[o.customer]
	o.typ, o.pay, o.account, o.account2 = typeTransfer, payEmpty, own[0], own[1]
	if d.chance(50) {
		o.account, o.account2 = o.account2, o.account
	}
}

// exchange goes between accounts of one customer in different currencies.
func (w *world) exchange(o *draft, d *dice) {
	own := w.byOwner[o.customer]
	o.typ, o.pay, o.account, o.account2 = typeExchange, payEmpty, own[0], own[2+d.below(len(own)-2)]
}

func (w *world) attachments(o *draft, n int) {
	d := newDice(w.seed, saltFile, n)
	o.documentBy = d.below(1 << 20)
	switch {
	case n >= 500:
		if n%8 == 0 {
			o.documents = 1
		}
	case d.chance(60):
		o.documents = 1 + d.below(4)
	}
	o.lockedOneOf = 4
}

// settleAfter is the age at which nearly all operations have ended.
const settleAfter = 6 * 24 * time.Hour

// settle ends an operation that is older than settleAfter; one of thirty stays open.
func (w *world) settle(o *draft, n int) {
	if w.newest-o.created < int64(settleAfter) || ended(o.status) {
		return
	}
	if d := newDice(w.seed, saltOperation, n+1<<44); d.below(30) > 0 {
		o.status = statusSuccess
	}
}

// dollarsPerMille are fixed sample rates: thousandths of a US dollar for one unit.
var dollarsPerMille = map[string]int64{"USD": 1000, "EUR": 1080, "GBP": 1260, "JPY": 7, "KWD": 3250, "CAD": 740,
	"INR": 12, "BTC": 60_000_000}

// operationAmounts are drawn, not stored: they never change.
type operationAmounts struct{ source, destination, commission, balance money }

// drawAmounts draws amounts as they occur: many round, a fee below one percent, an exchange by the sample rates.
func drawAmounts(seed uint64, n int, from, to string) operationAmounts {
	d := newDice(seed, saltAmount, n)
	cents := d.usualCents()
	a := operationAmounts{source: inCoin(cents, from), commission: money{from, "0", 0}}
	a.destination = a.source.exchanged(to)
	if d.chance(80) {
		a.commission = inCoin(250+cents/int64(400+d.below(600)), from)
	}
	a.balance = inCoin(cents*int64(2+d.below(30))+int64(d.below(1_000_000)), from)
	return a
}

// usualCents draws hundredths of a sum between 20 and 270,000, mostly below 10,000 and often round.
func (d *dice) usualCents() int64 {
	least := []int64{20, 150, 150, 900, 900, 5_000, 30_000}[d.below(7)]
	sum := least + int64(d.below(int(least)*8))
	switch {
	case d.chance(25):
		return max(sum/100, 1) * 100 * 100
	case d.chance(30):
		return max(sum/10, 1) * 10 * 100
	}
	return sum*100 + int64(d.below(100))
}

// inCoin is a sum of so many hundredths, made as large as such sums are in that currency.
func inCoin(cents int64, currency string) money {
	nanos := cents * 10_000_000
	step := int64(10_000_000)
	switch currency {
	case "JPY":
		nanos, step = nanos*100, 1_000_000_000
	case "INR":
		nanos *= 50
	case "KWD":
		step = 1_000_000
	case "BTC":
		nanos, step = nanos/50_000, 100_000
	}
	nanos = max(nanos-nanos%step, step)
	return money{currency, strconv.FormatInt(nanos/1_000_000_000, 10), nanos % 1_000_000_000}
}

// exchanged is the sum in another currency, by the sample rates less four thousandths.
func (m money) exchanged(to string) money {
	if to == m.Currency {
		return m
	}
	dollars := m.inDollars()
	units, _ := strconv.ParseInt(dollars.Units, 10, 64) // made by inDollars
	cents := units*100 + dollars.Nanos/10_000_000
	nanos := cents * 996 * 10_000_000 / dollarsPerMille[to]
	step := int64(1_000_000_000)
	for range digitsOf(to) {
		step /= 10
	}
	nanos = max(nanos-nanos%step, step)
	return money{to, strconv.FormatInt(nanos/1_000_000_000, 10), nanos % 1_000_000_000}
}

// sampleDoc is a document of the sample data; %d in the name is its number.
type sampleDoc struct{ name, mime, kind, info string }

var operationPapers = []sampleDoc{
	{"invoice-%d.pdf", "application/pdf", "INVOICE", "Invoice"},
	{"invoice-%d.pdf", "application/pdf", "INVOICE", "Invoice"},
	{"Rechnung-%d.pdf", "application/pdf", "INVOICE", "Rechnung"},
	{"contract-%d.pdf", "application/pdf", "CONTRACT", "Signed contract"},
	{"receipt-%d.png", "image/png", "OPERATION_DOCUMENT", "Receipt"},
	{"bill-of-lading-%d.pdf", "application/pdf", "BILL_OF_LADING", "Bill of lading"},
	{"請求書-%d.pdf", "application/pdf", "INVOICE", "請求書"},
	{"payment-order-%d.txt", "text/plain", "OPERATION_DOCUMENT", ""},
	{"term-sheet-%d.docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document", "TERM_SHEET",
		"Countersigned"},
}

// customerPapers are the two documents that each customer has, by kind.
var customerPapers = map[bool][]sampleDoc{
	false: {{"passport-%d.jpg", "image/jpeg", "PASSPORT", "Identity"},
		{"utility-bill-%d.pdf", "application/pdf", "UTILITY_BILL", "Proof of address"}},
	true: {{"articles-of-incorporation-%d.pdf", "application/pdf", "ARTICLES_OF_INCORPORATION", "Register extract"},
		{"bank-statement-%d.pdf", "application/pdf", "BANK_STATEMENT", "Bank statement"}},
}

// drawDoc draws the document of a file number; a negative one is a customer's own.
func drawDoc(d *dice, n, customer int) sampleDoc {
	from := operationPapers
	if n < 0 {
		from = customerPapers[people[customer].corporate][-n%2:][:1]
	}
	p := pick(d, from)
	p.name = fmt.Sprintf(p.name, 1000+d.below(9000))
	return p
}

// person is one customer of the sample data: both kinds, long names, names in
// many scripts. All are invented.
type person struct {
	corporate               bool
	name, lastname, company string
	status                  int // code, see customerStatuses
	main, second, third     string
}

var people = []person{
	{true, "Harbour & Finch Trading", "", "Harbour & Finch Trading Ltd", 3, "EUR", "USD", "GBP"},
	{false, "Ana", "Kovačević", "", 3, "EUR", "JPY", ""},
	{true, "Blue Cedar Logistics", "", "Blue Cedar Logistics GmbH", 3, "USD", "EUR", "KWD"},
	{false, "秀英", "王", "", 3, "USD", "JPY", "BTC"},
	{true, "Tallinn Tools", "", "Tallinn Tools OÜ", 6, "EUR", "USD", ""},
	{false, "Σοφία", "Παπαδοπούλου", "", 3, "EUR", "GBP", ""},
	{true, "شركة النخيل للتجارة", "", "شركة النخيل للتجارة ذ.م.م", 3, "KWD", "USD", "EUR"},
	{false, "José María", "Fernández-Cavada y Ruiz de la Fuente del Monte Alto", "", 3, "EUR", "BTC", ""},
	{true, "さくら精密工業", "", "さくら精密工業株式会社", 3, "JPY", "USD", "EUR"},
	{false, "Дмитрий", "Соколов", "", 1, "USD", "EUR", ""},
	{true, "Maple Ridge Bakery", "", "Maple Ridge Bakery Inc.", 3, "CAD", "USD", ""},
	{false, "Priya", "Raghunathan", "", 3, "INR", "USD", ""},
	{true, "The International Consolidated Company for Maritime Insurance, Reinsurance and General Brokerage", "",
		"The International Consolidated Company for Maritime Insurance, Reinsurance and General Brokerage (Holding) S.A.", 2,
		"USD", "EUR", "JPY"},
	{false, "서연", "김", "", 3, "USD", "JPY", ""},
	{true, "Ledger Lane Crypto", "", "Ledger Lane Crypto Services AG", 3, "BTC", "EUR", "USD"},
	{false, "שירה", "כהן", "", 4, "EUR", "USD", ""},
	{true, "Zażółć Gęślą", "", "Zażółć Gęślą Jaźń sp. z o.o.", 3, "EUR", "GBP", ""},
	{false, "ราตรี", "สุขสวัสดิ์", "", 0, "USD", "EUR", ""},
	{true, "North Fjord Seafood", "", "North Fjord Seafood AS", 5, "EUR", "USD", ""},
	{false, "Niamh", "O'Neill-Šťastný", "", 6, "GBP", "EUR", ""},
}

func (p person) display() string {
	if p.corporate {
		return p.company
	}
	return p.name + " " + p.lastname
}

func (p person) kind() string {
	if p.corporate {
		return "CORPORATE"
	}
	return "INDIVIDUAL"
}

func (p person) currencies() []string {
	return slices.DeleteFunc([]string{p.main, p.main, p.second, p.third}, func(c string) bool { return c == "" })
}

var payees = []string{
	"Meridian Paper Works", "Oak & Iron Fabrication", "Clearwater Legal LLP", "Sunrise Solar Cooperative",
	"Kestrel Freight",
	"Möller & Söhne Maschinenbau", "Pacific Rim Components", "Atelier Désirée", "Ocean Gate Charter",
	"Quartz Data Centres",
	"株式会社ひかり物流", "ООО «Северный Лес»", "مؤسسة الواحة", "Green Bough Nurseries",
	"Longshore Warehousing and Cold Storage of the Eastern Seaboard",
	"Pines Dental Group", "Redstart Consulting", "Casa del Mar Imports", "Nordlys Energi", "Tide & Timber",
}

var banks = []string{
	"First Sandbox Bank", "Sample Savings Bank", "Example Mutual", "Testland Commercial Bank", "Bank of Nowhere",
	"Placeholder Trust Company",
}

// rails are the payment types that go with a currency.
func rails(currency string) []int {
	special := map[string][]int{"USD": {payACH, payFedwire, paySwift, paySwift}, "EUR": {paySepa, paySepa, paySwift},
		"BTC": {payCrypto}, "INR": {payIMPS, paySwift}, "CAD": {payEFT, paySwift}}[currency]
	if special != nil {
		return special
	}
	return []int{paySwift}
}

// digitsOf are the fractional digits a currency has.
func digitsOf(currency string) int {
	switch currency {
	case "JPY":
		return 0
	case "KWD":
		return 3
	case "BTC":
		return 8
	}
	return 2
}

// Salts separate the random streams of different kinds of data.
const (
	saltSettings = iota + 1
	saltCustomer
	saltAccount
	saltCounterparty
	saltOperation
	saltAmount
	saltFile
	saltOpid
)

// dice is a small deterministic generator (SplitMix64): the same seed, salt and number always give the same values.
type dice struct{ state uint64 }

func newDice(seed, salt uint64, n int) dice {
	d := dice{seed*0x9E3779B97F4A7C15 ^ salt<<56 ^ uint64(n)}
	d.next()
	return d
}

func (d *dice) next() uint64 {
	d.state += 0x9E3779B97F4A7C15
	z := d.state
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

// below returns a number in [0, n).
func (d *dice) below(n int) int { return int(d.next() % uint64(n)) }

// chance is true in p of a hundred cases.
func (d *dice) chance(p int) bool { return d.below(100) < p }

func (d *dice) uuid() uuid.UUID {
	var u uuid.UUID
	for i := 0; i < 16; i += 8 {
		v := d.next()
		for j := range 8 {
			u[i+j] = byte(v >> (8 * j))
		}
	}
	u[6] = u[6]&0x0f | 0x40
	u[8] = u[8]&0x3f | 0x80
	return u
}

const alnum = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789"

// word returns n characters of an identifier.
func (d *dice) word(n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = alnum[d.below(len(alnum))]
	}
	return string(b)
}

func (d *dice) digits(n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte('0' + d.below(10))
	}
	return string(b)
}

func pick[T any](d *dice, from []T) T { return from[d.below(len(from))] }

// randomBytes are unpredictable, for keys and tokens, which must not come from the seed.
func randomBytes(n int) []byte {
	b := make([]byte, n)
	rand.Read(b) // never fails
	return b
}
