package faulty

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"opdeck/internal/sandbox"
)

// Odd stands before a service whose data have odd values; see sandbox.Options.Around.
func Odd(s *sandbox.Service, next http.Handler) http.Handler {
	return New(Faults{odd: true}).Around(s, next)
}

// patch is a part of a JSON object.
type patch = map[string]any

func amount(currency, units string, nanos int64) patch {
	return patch{"sum": patch{"currencyCode": currency, "units": units, "nanos": nanos}}
}

// oddOperations are what the operation of that number shows instead of its own values; 0 is the newest.
var oddOperations = map[int]patch{
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
		"\ufffd31m end"},
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

// oddFiles are the names and infos of the first documents of those operations; others have an ordinary one.
var oddFiles = map[int][2]string{
	16: {"scan\x1b[2J\x1b]0;x\x07.pdf", "escape \x1b[31mred"},
	17: {"invoice\u202efdp.exe", "direction \u202egnp\u202c"},
	18: {"in\u200bvoice\u2060.pdf", "zero\ufeffwidth"},
	19: {"two\r\nlines\t.pdf", "tab\tand\nline"},
}

// makeOdd gives the data odd values: those of oddOperations, which are open withdrawals with two documents, the second
// of them locked, and a customer's name. What it changes of the file it changes once.
func (d Data) makeOdd(ctx context.Context) error {
	return d.Alter(ctx, func(tx sandbox.Tx) error {
		first, err := tx.ExecContext(ctx, `INSERT OR IGNORE INTO counter(name, value) VALUES('odd', 1)`)
		if err != nil {
			return err
		}
		changes, err := first.RowsAffected()
		if err != nil {
			return err
		}
		if changes == 1 {
			_, err := tx.ExecContext(ctx, `UPDATE record SET doc = json_patch(doc, ?) WHERE kind = 'customer'
				AND n = (SELECT max(n) FROM record WHERE kind = 'customer')`, string(encode(patch{"name": "O'Neill-Šťastný",
				"lastname": "D’Août 👩‍🚀", "display": "O'Neill-Šťastný D’Août 👩‍🚀"})))
			if err != nil {
				return err
			}
		}
		for _, n := range slices.Sorted(maps.Keys(oddOperations)) {
			if changes == 1 {
				if err := makeOpen(ctx, tx, n); err != nil {
					return err
				}
			}
			list, err := tx.Operations(`WHERE o.n = ?`, n)
			if err != nil {
				return err
			}
			for _, raw := range list { // none if there are not so many
				d.shown.add(opidOf(raw), oddOperations[n])
			}
		}
		return nil
	})
}

// makeOpen makes an operation an open withdrawal with two documents of its own.
func makeOpen(ctx context.Context, tx sandbox.Tx, n int) error {
	_, err := tx.ExecContext(ctx, `DELETE FROM link WHERE op = ?1;
		UPDATE operation SET status = 1, type = 3, pay = 3, account2 = NULL, updated = created,
			cpaccount = (SELECT 2 * n FROM record
				WHERE kind = 'counterparty' AND doc ->> 'customer' = operation.customer ORDER BY n LIMIT 1) WHERE n = ?1`, n)
	if err != nil {
		return err
	}
	for k := range 2 {
		file := [2]string{"invoice.pdf", "Invoice"}
		if odd, has := oddFiles[n]; has && k == 0 {
			file = odd
		}
		guid := sha256.Sum256(fmt.Append(nil, "document ", k, " of operation ", n))
		_, err := tx.ExecContext(ctx, `
			INSERT INTO file(n, guid, customer, name, mime, size, kind, info, locked, created)
				SELECT (SELECT min(n) - 1 FROM file), ?1, customer, ?2, 'application/pdf', 1000, 'INVOICE', ?3, ?4, created
				FROM operation WHERE n = ?5;
			INSERT INTO link(op, file, name) SELECT n, (SELECT min(n) FROM file), '' FROM operation WHERE n = ?5`,
			guid[:16], file[0], file[1], k == 1, n)
		if err != nil {
			return err
		}
	}
	return nil
}

// patches are what operations show otherwise than the service has them, by their ids. A member that is null in a patch
// is shown as null.
type patches struct {
	mu sync.Mutex
	of map[string]patch
}

// add puts a patch over the earlier ones of an operation.
func (p *patches) add(opid string, over patch) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.of[opid] == nil {
		p.of[opid] = patch{}
	}
	merge(p.of[opid], over)
}

// forget removes the patches of an operation.
func (p *patches) forget(opid string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.of, opid)
}

// operation is an operation with its patches.
func (p *patches) operation(raw json.RawMessage) json.RawMessage {
	p.mu.Lock()
	defer p.mu.Unlock()
	over, shown := p.of[opidOf(raw)], patch{}
	if over == nil || decode(raw, &shown) != nil {
		return raw
	}
	merge(shown, over)
	return encode(shown)
}

// body is the body of an answer, in which operations have their patches.
func (p *patches) body(body []byte) []byte {
	if !p.names(body) {
		return body
	}
	var parts map[string]json.RawMessage
	if json.Unmarshal(body, &parts) != nil {
		return body
	}
	for _, name := range []string{"item", "items", "children"} {
		var list []json.RawMessage
		switch raw, has := parts[name]; {
		case !has:
		case json.Unmarshal(raw, &list) != nil:
			parts[name] = p.operation(raw)
		default:
			for i := range list {
				list[i] = p.operation(list[i])
			}
			parts[name] = encode(list)
		}
	}
	return encode(parts)
}

// names reports whether a text has the id of an operation with patches.
func (p *patches) names(text []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for opid := range p.of {
		if bytes.Contains(text, []byte(opid)) {
			return true
		}
	}
	return false
}

func opidOf(raw json.RawMessage) string {
	var o struct{ Opid string }
	_ = json.Unmarshal(raw, &o) // of what is no operation it stays empty
	return o.Opid
}

// merge is RFC 7396, but null stays null, so that a field can be shown as null. It leaves over unchanged.
func merge(base, over patch) {
	for k, v := range over {
		inner, object := v.(patch)
		if !object {
			base[k] = v
			continue
		}
		under, has := base[k].(patch)
		if !has {
			under = patch{}
			base[k] = under
		}
		merge(under, inner)
	}
}
