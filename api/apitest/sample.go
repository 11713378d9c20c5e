package apitest

import (
	"encoding/json"
	"fmt"
	"strings"

	"opdeck/api"
)

// Hostile is text that would control a terminal, or hide or reorder itself.
const Hostile = "\x1b]52;c;ZXZpbA==\a\x1b[2J\u202eexe.fdp\u200b\u009b31m\r\nPAID"

// Operation is a pending withdrawal in the service's form, with three documents, the third one locked. changes
// replaces JSON fields.
func Operation(changes map[string]any) api.Operation {
	fields := map[string]any{
		"opid": "5b55db86-17e5-4612-81f9-29d3bd5082a1", "isVisible": true, "status": "PENDING", "type": "WITHDRAW",
		"paymentType": "SWIFT", "createdAt": "2026-03-02T10:15:00Z", "updatedAt": "2026-03-02T11:40:00.5Z",
		"source": map[string]any{"account": map[string]any{
			"id": "UhcPVBEpjmtR", "name": "USD main", "number": "12345678904321",
			"customer": map[string]any{"cuid": "DqCsgSE-4e95-ViYbNI", "name": "Harbour & Finch Trading Ltd"}}},
		"destination": map[string]any{"counterpartyAccount": map[string]any{
			"id": "UvYqyrDwqI", "name": "Settlement", "number": "DE02120300000000202051",
			"counterparty": map[string]any{
				"suid": "U6OFFpEoEdHA", "name": "Oak & Iron Fabrication", "bankName": "First Example Bank"}}},
		"sourceAmount": Amount("USD", "1250", 500_000_000), "destinationAmount": Amount("EUR", "1156", 250_000_000),
		"commissionAmount": Amount("USD", "3", 0), "currentBalanceAmount": Amount("USD", "98765432", 10_000_000),
		"comment": "Invoice settlement", "isParent": false, "reference": "SBX-68159091",
		"customer": map[string]any{"cuid": "DqCsgSE-4e95-ViYbNI", "name": "Harbour & Finch Trading Ltd"},
		"documents": []any{Document("ba464e45", "invoice.pdf", false), Document("c879e6a0", "contract.pdf", false),
			Document("37dedbd0", "請求書.pdf", true)},
	}
	for k, v := range changes {
		fields[k] = v
	}
	return decode[api.Operation](fields)
}

// Amount is an amount in the service's form.
func Amount(currency, units string, nanos int) map[string]any {
	return map[string]any{"sum": map[string]any{"currencyCode": currency, "units": units, "nanos": nanos}}
}

// Document is a document in the service's form; its guid begins with id.
func Document(id, name string, locked bool) map[string]any {
	return map[string]any{"guid": id + "-f391-4664-ae43-fc789ef2b79d", "fileName": name, "size": 101_374,
		"mime": "application/pdf", "docType": "OPERATION_DOCUMENT", "info": "Signed", "isLock": locked,
		"createAt": "2026-03-02T10:20:00Z"}
}

// HostileOperation has hostile text in every text field, including unknown ones.
func HostileOperation() api.Operation {
	op := Operation(map[string]any{"scan": "unknown " + Hostile})
	b, err := json.Marshal(op)
	if err != nil {
		panic(err)
	}
	var tree any
	if err := json.Unmarshal(b, &tree); err != nil {
		panic(err)
	}
	return decode[api.Operation](poison(tree, ""))
}

// poison appends hostile text to every text except ids, times and numbers.
func poison(v any, key string) any {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			v[k] = poison(x, k)
		}
		return v
	case []any:
		for i, x := range v {
			v[i] = poison(x, key)
		}
		return v
	case string:
		keep := strings.HasSuffix(key, "At") || key == "opid" || key == "guid" || key == "cuid" || key == "units"
		if !keep {
			return v + Hostile
		}
	}
	return v
}

// OddMoney lists amounts that must be exact everywhere, with their display.
func OddMoney() []struct {
	Op   api.Operation
	Want string
} {
	var out []struct {
		Op   api.Operation
		Want string
	}
	for i, c := range []struct {
		currency, units string
		nanos           int
		want            string
	}{
		{"EUR", "99999999999999999999", 999_999_999, "99,999,999,999,999,999,999.999999999 EUR"},
		{"EUR", "-1234", -560_000_000, "-1,234.56 EUR"},
		{"EUR", "0", 1, "0.000000001 EUR"},
		{"EUR", "9", 999_999_999, "9.999999999 EUR"},
		{"JPY", "1977", 0, "1,977 JPY"},
		{"KWD", "4937", 962_000_000, "4,937.962 KWD"},
		{"XQZ", "97", 0, "97 XQZ"},
		{"EUR", "0", -500_000_000, "-0.50 EUR"},
	} {
		op := Operation(map[string]any{"opid": fmt.Sprintf("00000000-0000-4000-8000-%012d", i),
			"sourceAmount": Amount(c.currency, c.units, c.nanos)})
		out = append(out, struct {
			Op   api.Operation
			Want string
		}{op, c.want})
	}
	return out
}

func decode[T any](v any) T {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	var out T
	if err := json.Unmarshal(b, &out); err != nil {
		panic(err)
	}
	return out
}
