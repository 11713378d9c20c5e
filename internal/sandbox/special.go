package sandbox

import "strings"

// special pins operations of fixed number, the same in every sandbox; the
// package documentation lists them.
func special(o *draft, n int, w *world) {
	if n == 0 || n == 1 {
		pinned(o, n, w)
		return
	}
	patch, ok := specials[n]
	if !ok || !w.odd {
		return
	}
	d := newDice(w.seed, saltOperation, n+1<<43)
	o.account2 = -1
	w.payment(o, &d, typeWithdraw)
	o.extra = string(encode(patch))
	o.documents, o.lockedOneOf = 2, 2
	if o.status != statusPending {
		o.status, o.updated = statusPending, o.created
	}
}

// pinned makes the newest operation one to try document work on, and the
// second an ended one.
func pinned(o *draft, n int, w *world) {
	o.customer = 0
	o.account = w.byOwner[0][2] // USD
	o.account2 = -1
	o.target = w.byCoin[coinKey{0, "USD"}][0]
	o.typ, o.pay, o.status, o.flags, o.parent = typeWithdraw, paySwift, statusPending, flagVisible, -1
	o.documents, o.lockedOneOf, o.updated = 3, 3, o.created
	if n == 1 {
		o.status, o.updated = statusSuccess, o.created+90_000_000_000
	}
}

func amount(currency, units string, nanos int64) patch {
	return patch{"sum": patch{"currencyCode": currency, "units": units, "nanos": nanos}}
}

// specials are merge patches over the operation of that number.
var specials = map[int]patch{
	10: {"reference": "SBX-ODD-10", "comment": "Units of twenty digits",
		"sourceAmount":      amount("EUR", "98765432109876543210", 990000000),
		"destinationAmount": amount("EUR", "98765432109876543210", 990000000)},
	11: {"reference": "SBX-ODD-11", "comment": "Negative amount (reversal)",
		"sourceAmount": amount("EUR", "-1234", -560000000), "destinationAmount": amount("EUR", "-1234", -560000000)},
	12: {"reference": "SBX-ODD-12", "comment": "One billionth", "sourceAmount": amount("EUR", "0", 1)},
	13: {"reference": "SBX-ODD-13", "comment": "One billionth short of ten",
		"sourceAmount": amount("USD", "9", 999999999)},
	14: {"reference": "SBX-ODD-14", "comment": "Unknown currency",
		"sourceAmount": amount("XQZ", "4200", 123456780), "destinationAmount": amount("XQZ", "4200", 123456780)},
	15: {"reference": "SBX-ODD-15", "comment": "Signs disagree", "sourceAmount": amount("USD", "5", -500000000)},
	16: {"reference": "SBX-ODD-16\x1b[31m", "comment": "Escapes: \x1b[2J\x1b[H\x1b]52;c;b3BkZWNr\x07\x1b]0;owned\x07 " +
		"\x9b31m end"},
	17: {"reference": "SBX-ODD-17", "comment": "Direction: \u202egnp.eciovni\u202c \u2066isolated\u2069 \u200fmark",
		"destination": patch{"counterpartyAccount": patch{"counterparty": patch{"name": "Acme \u202eknaB\u202c"}}}},
	18: {"reference": "SBX-\u200bODD\u2060-18", "comment": "Zero width: a\u200bb\u200cc\u200dd\ufeffe and many marks: Z" +
		strings.Repeat("\u0301\u0323", 20),
		"customer": patch{"name": "Har\u00adbour\u200b & Finch"}},
	19: {"reference": "SBX-ODD-19", "comment": "Lines\r\nand\ttabs\x00and\x08backspace\x7f\u2028separator"},
	20: {"reference": "SBX-ODD-20", "comment": strings.Repeat("A very long comment that goes on. ", 120)},
	21: {"reference": "SBX-ODD-21", "comment": "Unknown fields and values", "status": "ON_HOLD_REVIEW", "type": "LOAN",
		"paymentType": "RTP_INSTANT",
		"riskScore":   0.12345678901234568, "bigNumber": uint64(12345678901234567890), "labels": []string{"vip", "watch"},
		"provider": patch{"name": "sample rail", "trace": patch{"id": "tr-1", "hops": 3}}},
	35: {"reference": "SBX-ODD-35", "comment": nil, "destination": nil, "commissionAmount": nil,
		"currentBalanceAmount": nil},
}
