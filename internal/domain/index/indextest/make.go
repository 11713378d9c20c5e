// Package indextest makes operations for tests and benchmarks of the index, in the service's format and reproducible
// by number.
package indextest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"opdeck/api"
	"opdeck/api/untrusted"
	"opdeck/internal/domain/index"
)

// Now is the time of the newest made operation.
var Now = time.Date(2026, 6, 30, 12, 0, 0, 0, time.UTC)

// Options shape what Make makes.
type Options struct {
	Seed      uint64
	Customers int  // distinct; 0 means 2,000
	Parties   int  // distinct counterparties; 0 means 20,000
	Odd       bool // rare values too: huge, negative and unreadable amounts, missing times, unusual texts
	Raw       bool // with the JSON record, about 1.3 kB each
}

var (
	statuses = []string{"SUCCESS", "SUCCESS", "SUCCESS", "SUCCESS", "SUCCESS", "SUCCESS", "FAILED", "CANCELED", "PENDING",
		"PROCESSING"}
	types    = []string{"WITHDRAW", "WITHDRAW", "WITHDRAW", "DEPOSIT", "DEPOSIT", "TRANSFER", "EXCHANGE"}
	payments = []string{"SWIFT", "SWIFT", "SEPA_CT", "SEPA_CT", "ACH", "FEDWIRE", "CRYPTO", "EMPTY"}
	coins    = []string{"EUR", "EUR", "USD", "USD", "GBP", "JPY", "KWD", "BTC"}
	firsts   = []string{"Meridian", "Oak & Iron", "Clearwater", "Möller", "Kestrel", "Quartz", "Société", "Северный",
		"ひかり", "Nordlys", "Redstart", "Harbour", "Acme", "Globex", "Pacific"}
	seconds = []string{"Paper", "Fabrication", "Legal", "Maschinenbau", "Freight", "Data", "Générale", "Лес", "物流",
		"Energi", "Consulting", "Finch", "Trading", "Works", "Components"}
	thirds  = []string{"Ltd", "GmbH", "LLP", "AS", "Inc.", "S.A.", "OÜ", "AG", "Holding", "Group"}
	remarks = []string{"", "", "", "", "monthly settlement", "test payment", "rush", "see attached invoice",
		"refund of fee", "second try"}
	files = []string{"invoice", "contract", "proof of funds", "customs declaration", "statement"}
)

func name(n int) string {
	return firsts[n%len(firsts)] + " " + seconds[n/len(firsts)%len(seconds)] + " " + thirds[n/225%len(thirds)] +
		" " + strconv.Itoa(n/2250)
}

// Make returns operation n: the greater n, the older it is.
func (o Options) Make(n int) api.Operation {
	r := rand.New(rand.NewPCG(o.Seed+1, uint64(n)))
	customers, parties := max(o.Customers, 1), max(o.Parties, 1)
	if o.Customers == 0 {
		customers = 2000
	}
	if o.Parties == 0 {
		parties = 20_000
	}
	pick := func(l []string) untrusted.Text { return untrusted.Text(l[r.IntN(len(l))]) }
	created := Now.Add(-time.Duration(n)*61*time.Second - time.Duration(r.IntN(60_000_000))*time.Microsecond)
	c, p := r.IntN(customers), r.IntN(parties)
	coin := pick(coins)
	amount := api.Money{CurrencyCode: coin, Units: api.Number(strconv.Itoa(r.IntN(1 << r.IntN(22)))),
		Nanos: api.Number(strconv.Itoa(r.IntN(100) * 10_000_000))}
	op := api.Operation{
		OPID: untrusted.Text(fmt.Sprintf("%08x-%04x-4%03x-8%03x-%012x", r.Uint32(), r.IntN(1<<16), r.IntN(1<<12),
			r.IntN(1<<12), r.Int64N(1<<48))),
		IsVisible: r.IntN(50) > 0, Status: pick(statuses), Type: pick(types), PaymentType: pick(payments),
		CreatedAt: api.At(created), UpdatedAt: api.At(created.Add(time.Duration(r.IntN(72_000)) * time.Second)),
		Customer: api.CustomerRef{CUID: untrusted.Text(fmt.Sprintf("D%05dxbc-ERrj", c)),
			Name: untrusted.Text(name(c * 7))},
		SourceAmount: api.Amount{Sum: amount}, DestinationAmount: api.Amount{Sum: amount},
		CommissionAmount: api.Amount{Sum: api.Money{CurrencyCode: coin, Units: api.Number(strconv.Itoa(r.IntN(40))),
			Nanos: "500000000"}},
		Reference: untrusted.Text(fmt.Sprintf("INV-%d-%07d", created.Year(),
			n)), Comment: pick(remarks), IsParent: r.IntN(200) == 0,
	}
	op.Source.Account = &api.PartyAccount{ID: untrusted.Text(fmt.Sprintf("U%06d", c)), Name: "Main account",
		Number: untrusted.Text(fmt.Sprintf("DE%020d", c)), Customer: op.Customer}
	op.Destination.CounterpartyAccount = &api.CounterpartyAccount{ID: untrusted.Text(fmt.Sprintf("K%06d", p)),
		Name: "Settlement", Number: untrusted.Text(fmt.Sprintf("GB%018d", p)),
		Counterparty: api.CounterpartyRef{SUID: untrusted.Text(fmt.Sprintf("S%06d", p)), Name: untrusted.Text(name(p)),
			BankName: untrusted.Text("Bank of " + seconds[p%len(seconds)])}}
	for range max(0, r.IntN(5)-2) {
		op.Documents = append(op.Documents, api.Document{GUID: untrusted.Text(fmt.Sprintf("doc%012x", r.Int64N(1<<48))),
			FileName: pick(files) + ".pdf", Size: int64(r.IntN(1 << 20)),
			MIME: "application/pdf", DocType: "OPERATION_DOCUMENT", Lock: locks[r.IntN(20)], CreateAt: op.CreatedAt})
	}
	if o.Odd {
		odd(r, &op)
	}
	if o.Raw {
		op.Raw, _ = json.Marshal(op) // plain fields: cannot fail
	}
	return op
}

var oddTexts = []untrusted.Text{"", "ÄÖ ÜBER", "per%cent_under\\score", "a\"quote", "İstanbul", "nul\x00byte",
	"tab\tand (brackets)", "x", "ΟΔΟΣ", "ab\x1fcd"}

const iban = "DE89370400440532013000" // a common example

func odd(r *rand.Rand, op *api.Operation) {
	pick := func() untrusted.Text { return oddTexts[r.IntN(len(oddTexts))] }
	switch r.IntN(16) {
	case 0:
		op.SourceAmount.Sum.Units = api.Number(fmt.Sprintf("%d%019d", r.IntN(100)-50, r.Int64()%1e18))
		op.SourceAmount.Sum.Nanos = "0"
	case 1:
		op.SourceAmount.Sum.Units, op.SourceAmount.Sum.Nanos = api.Number(strconv.Itoa(-1-r.IntN(500))), "-250000000"
	case 2:
		op.SourceAmount.Sum.Units = "12x"
	case 3:
		op.SourceAmount = api.Amount{}
	case 4:
		op.CreatedAt, op.UpdatedAt = api.Time{}, api.Time{Raw: "soon"}
	case 5:
		op.Comment, op.Reference = pick(), pick()
	case 6:
		op.Customer = api.CustomerRef{CUID: pick(), Name: pick()}
		op.Source = api.Party{}
	case 7:
		op.Destination.CounterpartyAccount.Counterparty.Name, op.Destination.CounterpartyAccount.Number = pick(), pick()
	case 8:
		op.Status, op.Type = pick(), "warp"
	case 9:
		op.Documents = append(op.Documents, api.Document{FileName: pick(), Info: pick(), GUID: "g"})
	case 10:
		op.Comment, op.Reference = "to "+iban, pick()
	case 11:
		op.Customer.Name, op.Destination.CounterpartyAccount.Name = iban, "of "+iban
	case 12:
		op.Documents = append(op.Documents, api.Document{FileName: iban + ".pdf", GUID: "h"})
		op.Source.Account.ID = iban
	}
}

// Whole is the stored progress of an index with all rows of a list, newest first, after a pass at the store's time
// at.
func Whole(at time.Time, rows int64, newest time.Time) (name, value string, err error) {
	p := index.Progress{Version: 2, Total: rows, Order: index.NewestFirst, PageSize: 1000, NewsSize: 100, Tried: true,
		Last: index.Done{Started: at, Finished: at, Held: rows, Total: rows},
		News: index.News{At: at, Mark: newest.UnixMicro(), By: index.NewestFirst}}
	b, err := json.Marshal(p)
	return "sync", string(b), err
}

// locks are those of the documents: a few are locked, and of a few it is not known.
var locks = append(slices.Repeat([]api.Lock{api.Unlocked}, 18), api.Locked, api.LockUnknown)
