package indextest

import (
	"strings"
	"time"

	"opdeck/api"
	"opdeck/api/untrusted"
)

// variedNames are names as they occur: with accents, whole or combined, in other scripts, with signs and hidden
// characters.
var variedNames = []untrusted.Text{"José Łukasz", "Zażółć Gęślą Jaźń sp. z o.o.", "Smith, Jones & Co. (London)",
	"Har\u200bbour \"Finch\"", "O’Neill", "Αθηναϊκή Ναυτιλιακή", "شركة النور للتجارة", "A\u030angstro\u0308m AB", "東京電力",
	"ИП Щукина"}

// variedStatuses are status words that the service uses beside those of Make.
var variedStatuses = []untrusted.Text{"NEW", "VERIFY", "REJECTED", "ON_HOLD"}

// Varied returns operations with what a real list has, newest first: amounts of 0, 2, 3 and 8 decimals, negative and
// large ones, names in several scripts, parents and hidden operations, changes of seconds and of weeks before now.
func Varied(rows int, now time.Time) []api.Operation {
	var ops []api.Operation
	for i := range rows {
		o := Options{Odd: true, Customers: 60, Parties: 90}.Make(i)
		shift := now.Sub(Now) - time.Duration(i*i)*time.Minute
		if !o.CreatedAt.IsZero() {
			o.CreatedAt, o.UpdatedAt = api.At(o.CreatedAt.Add(shift)),
				api.At(o.CreatedAt.Add(shift+time.Duration(i)*7*time.Second))
		}
		if a := o.Destination.CounterpartyAccount; a != nil { // a bank is searched, and no column shows it
			a.Counterparty.BankName = "Bank"
		}
		if i%5 == 0 {
			o.Customer.Name = variedNames[i/5%len(variedNames)]
		}
		if i%9 == 0 {
			o.Status = variedStatuses[i/9%len(variedStatuses)]
		}
		o.IsParent, o.IsVisible = i%6 == 0, i%8 != 0
		vary(&o.SourceAmount.Sum, i)
		vary(&o.DestinationAmount.Sum, i+3)
		ops = append(ops, o)
	}
	return ops
}

// vary gives an amount as many decimals as its currency has; some are large.
func vary(m *api.Money, i int) {
	switch {
	case m.Units == "" || strings.Trim(string(m.Units), "0123456789") != "": // negative, or not a number
	case m.CurrencyCode == "JPY":
		m.Nanos = "0"
	case m.CurrencyCode == "KWD":
		m.Nanos = "125000000"
	case m.CurrencyCode == "BTC":
		m.Nanos = "123456780"
	case i%7 == 0:
		m.Units += "250"
	}
}
