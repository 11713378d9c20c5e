package sandbox

import (
	"strings"
	"time"
)

// baseTime is the creation of the newest sample operation where the data do not
// run up to now. It is fixed, so that the same seed gives the same data on every day.
var baseTime = time.Date(2026, 11, 2, 8, 30, 0, 0, time.UTC).UnixNano()

// world is what sample operations refer to, drawn from the seed.
type world struct {
	dataset
	newest   int64 // creation of operation 0, Unix nanoseconds
	gap      int64 // between two operations, nanoseconds; 0: the fixed rhythm of createdAt
	accounts []worldAccount
	payees   []worldPayee
	targets  []worldTarget
	byOwner  [][]int // account numbers of each customer
	byCoin   map[coinKey][]int
}

type coinKey struct {
	customer int
	currency string
}

type worldAccount struct {
	id, name, number, currency string
	customer                   int
}

type worldPayee struct {
	suid, name, bank string
	customer         int
}

// worldTarget is an account of a payee.
type worldTarget struct {
	id, name, number, currency string
	payee                      int
}

func newWorld(data dataset) *world {
	people := data.people()
	w := &world{dataset: data, newest: baseTime, byCoin: map[coinKey][]int{}, byOwner: make([][]int, len(people))}
	for c, p := range people {
		for i, cur := range p.currencies() {
			d := newDice(w.seed, saltAccount, len(w.accounts))
			name := cur + " main"
			if i == 1 {
				name = cur + " reserve"
			}
			w.byOwner[c] = append(w.byOwner[c], len(w.accounts))
			w.accounts = append(w.accounts, worldAccount{id: "U" + d.word(11), name: name, number: accountNumber(&d, cur),
				currency: cur, customer: c})
		}
		w.addPayees(c, p)
	}
	return w
}

func (w *world) addPayees(c int, p person) {
	for k, cur := range p.currencies()[1:] {
		d := newDice(w.seed, saltCounterparty, len(w.payees))
		w.payees = append(w.payees, worldPayee{suid: "U" + d.word(9), name: payees[(c*3+k)%len(payees)],
			bank: pick(&d, banks), customer: c})
		for range 2 {
			t := worldTarget{id: "U" + d.word(11), name: cur + " account", number: accountNumber(&d, cur), currency: cur,
				payee: len(w.payees) - 1}
			w.byCoin[coinKey{c, cur}] = append(w.byCoin[coinKey{c, cur}], len(w.targets))
			w.targets = append(w.targets, t)
		}
	}
}

func accountNumber(d *dice, currency string) string {
	switch currency {
	case "EUR", "GBP":
		return "XX" + d.digits(2) + "SBOX" + d.digits(14)
	case "BTC", "XQZ":
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
	extra                   string
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
	w := newWorld(st.dataset())
	if st.Newest != 0 {
		w.newest = st.Newest
		w.gap = max(int64(st.Span)/int64(st.Operations), int64(time.Millisecond)*2)
	}
	return w
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
	o.customer = w.accounts[o.account].customer
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
	special(&o, n, w)
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
	cur := w.accounts[o.account].currency
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
