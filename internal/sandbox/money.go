package sandbox

import (
	"strconv"
	"strings"
)

// money is a sum as the service carries it: whole units as text of any length
// and billionths; both carry the sign.
type money struct {
	currency string
	units    string
	nanos    int64
}

type moneyJSON struct {
	CurrencyCode string `json:"currencyCode"`
	Units        string `json:"units"`
	Nanos        int64  `json:"nanos"`
}

type amountJSON struct {
	Sum moneyJSON `json:"sum"`
}

func (m money) rest() *amountJSON {
	return &amountJSON{Sum: moneyJSON{CurrencyCode: m.currency, Units: m.units, Nanos: m.nanos}}
}

func (m moneyJSON) money() money {
	return money{currency: m.CurrencyCode, units: m.Units, nanos: m.Nanos}
}

func (m money) negative() money {
	if m.units != "0" && !strings.HasPrefix(m.units, "-") {
		m.units = "-" + m.units
	}
	if m.nanos > 0 {
		m.nanos = -m.nanos
	}
	return m
}

// draw makes an amount with the digits the currency has, mostly small.
func draw(d *dice, currency string, most int) money {
	limit := most
	for range d.below(3) {
		limit = max(limit/20, 10)
	}
	digits := digitsOf(currency)
	if digits == 8 {
		limit = max(limit/10_000, 2)
	}
	m := money{currency: currency, units: strconv.Itoa(d.below(limit))}
	step := int64(1)
	for range 9 - digits {
		step *= 10
	}
	if digits > 0 && !d.chance(30) {
		m.nanos = int64(d.next()%uint64(1_000_000_000/step)) * step
	}
	if m.units == "0" && m.nanos == 0 {
		m.units = "1"
	}
	return m
}

// operationAmounts are drawn, not stored: they never change.
type operationAmounts struct{ source, destination, commission, balance money }

func drawAmounts(seed uint64, n int, from, to string) operationAmounts {
	d := newDice(seed, saltAmount, n)
	a := operationAmounts{
		source: draw(&d, from, 2_000_000), commission: draw(&d, from, 40), balance: draw(&d, from, 9_000_000),
	}
	a.destination = a.source
	if to != from {
		a.destination = draw(&d, to, 2_000_000)
	}
	if d.chance(15) {
		a.commission = money{currency: from, units: "0"}
	}
	return a
}
