package sandbox

import (
	"fmt"
	"strconv"
	"time"
)

// dataset names the sample data of a file: what is drawn when it is asked for depends on it.
type dataset struct {
	seed uint64
	odd  bool // see Options.Odd
}

func (st *settings) dataset() dataset { return dataset{st.Seed, !st.Ordinary} }

// settleAfter is the age at which nearly all ordinary operations have ended.
const settleAfter = 6 * 24 * time.Hour

// settle ends an ordinary operation that is older than settleAfter; one of thirty stays open.
func (w *world) settle(o *draft, n int) {
	if w.odd || w.newest-o.created < int64(settleAfter) || ended(o.status) {
		return
	}
	if d := newDice(w.seed, saltOperation, n+1<<44); d.below(30) > 0 {
		o.status = statusSuccess
	}
}

// dollarsPerMille are fixed sample rates: thousandths of a US dollar for one unit.
var dollarsPerMille = map[string]int64{"USD": 1000, "EUR": 1080, "GBP": 1260, "JPY": 7, "KWD": 3250, "CAD": 740,
	"INR": 12, "BTC": 60_000_000}

// ordinaryAmounts are amounts as they occur: many round, a fee below one percent, an exchange by the sample rates.
func ordinaryAmounts(seed uint64, n int, from, to string) operationAmounts {
	d := newDice(seed, saltAmount, n)
	cents := d.usualCents()
	a := operationAmounts{source: inCoin(cents, from), commission: money{currency: from, units: "0"}}
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
	return money{currency: currency, units: strconv.FormatInt(nanos/1_000_000_000, 10), nanos: nanos % 1_000_000_000}
}

// exchanged is an ordinary sum in another currency, by the sample rates less four thousandths.
func (m money) exchanged(to string) money {
	if to == m.currency {
		return m
	}
	dollars := m.inDollars()
	units, _ := strconv.ParseInt(dollars.units, 10, 64) // made by inDollars
	cents := units*100 + dollars.nanos/10_000_000
	nanos := cents * 996 * 10_000_000 / dollarsPerMille[to]
	step := int64(1_000_000_000)
	for range digitsOf(to) {
		step /= 10
	}
	nanos = max(nanos-nanos%step, step)
	return money{currency: to, units: strconv.FormatInt(nanos/1_000_000_000, 10), nanos: nanos % 1_000_000_000}
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

// ordinaryDoc draws the document of a file number; a negative one is a customer's own.
func (w dataset) ordinaryDoc(d *dice, n, customer int) sampleDoc {
	from := operationPapers
	if n < 0 {
		from = customerPapers[w.people()[customer].corporate][-n%2:][:1]
	}
	p := pick(d, from)
	p.name = fmt.Sprintf(p.name, 1000+d.below(9000))
	return p
}
