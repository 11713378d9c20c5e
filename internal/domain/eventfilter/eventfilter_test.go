package eventfilter_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"opdeck/api"
	"opdeck/api/hook"
	"opdeck/internal/domain/eventfilter"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/domain/index/filter/filtertest"
	"opdeck/internal/domain/receiver"
)

var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

const opid = "0f0e6c5e-1111-4222-8333-444455556666"

func hookID(n int) string { return fmt.Sprintf("%08d-0000-4000-8000-000000000000", n) }

// event is a stored delivery, received n hours before noon.
func event(n int, typ hook.Type, object hook.Object, data string) receiver.Stored {
	raw := fmt.Sprintf(`{"hook_id":%q,"hook_type":%d,"Data":{%q:%s}}`, hookID(n), typ, object, data)
	s := receiver.Stored{Seq: int64(n), Deliveries: 1}
	s.Record = receiver.Record{Key: hookID(n), HookID: hookID(n), Type: typ, Object: object, Raw: []byte(raw),
		ReceivedAt: noon.Add(-time.Duration(n) * time.Hour),
		Source:     "192.0.2.7", Verdict: hook.Verdict{Verifier: "jwt", Authenticated: true, Bound: true},
		Status: receiver.Verified}
	if e, err := s.Event(); err == nil {
		s.ObjectID, s.CUID = e.ObjectID, e.CUID
	}
	return s
}

// inbox holds one event of each kind that a filter distinguishes.
func inbox(t *testing.T) []receiver.Stored {
	op := event(1, hook.TypeOperation, hook.ObjectOperation, `{"opid":"`+opid+`","cuid":"DqCsgSE-4e95","type":3,
		"status":2,"payment_type":3,
		"source_amount":{"sum":{"currency_code":"EUR","units":1000,"nanos":500000001},
		"default":{"currency_code":"USD","units":1100}}}`)
	if e, err := op.Event(); err != nil || !e.Status.Given {
		t.Fatal(err)
	}
	account := event(2, hook.TypeDepositAccount, hook.ObjectAccount, `{"cuid":"D7k3","suid":"UhcPVBEpjmtR",
		"name":"Treasury","currency_iso":"USD","status":3,
		"number":"DE89370400440532013000","balance":{"money":{"currency_code":"USD","units":7},
		"default":{"currency_code":"USD","units":7}}}`)
	account.Retry = receiver.Retry{}.Again(account.Key, "locked", noon)
	client := event(3, hook.TypeClient, hook.ObjectClient,
		`{"cuid":"D7k3","status":6,"name":"Oak & Iron","lastname":"Ltd"}`)
	client.Deliveries, client.Verdict.Bound = 2, false
	bad := event(4, 77, "", `{}`)
	bad.Status, bad.Reason, bad.Detail, bad.Source = receiver.Quarantined, hook.ReasonType, "hook_type is not listed",
		receiver.Manual
	twice := op
	twice.Seq, twice.Key, twice.Status, twice.ReceivedAt = 5, op.Key+"#ab", receiver.Conflict, noon.Add(-5*time.Hour)
	return []receiver.Stored{op, account, client, bad, twice}
}

// TestEvents asks each field, in all that the grammar has, and holds what the inbox
// is asked for against what the filter means.
func TestEvents(t *testing.T) {
	all := inbox(t)
	for in, want := range map[string]string{
		"":                              "12345",
		"type:operation":                "15",
		"type:OPERATION":                "15",
		"type:1":                        "15",
		"type:account,client":           "23",
		"type:unlisted":                 "4",
		"type:unlisted,client":          "34",
		"-type:operation":               "234",
		"type:operation OR type:client": "135",
		"type:operation type:client":    "",
		"(type:operation | type:client) has:bound": "15",
		"status:verified":                          "123",
		"status:verified status:conflict":          "",
		"status:quarantined,conflict":              "45",
		"status!=verified":                         "45",
		"id:0f0e6c5e":                              "15",
		"id:" + opid:                               "15",
		"id:" + strings.ToUpper(opid):              "15",
		"opid:" + opid + " -status:conflict":       "1",
		"hook:0000000":                             "12345",
		"hook:" + hookID(2):                        "2",
		"customer:d7k3":                            "23",
		"received<2h":                              "12",
		"since:2h":                                 "12",
		"received>3h":                              "45",
		"received>=3h":                             "45",
		"received:2026-03-02T08:00..":              "1234",
		"received<2026-03-02T09:00":                "45",
		"received>2026-01-01 received<2h30m":       "error",
		"state:2":                                  "15",
		"state:3,6":                                "23",
		"currency:eur":                             "15",
		"amount>1000.5":                            "15",
		"amount>1000.500000001":                    "",
		"amount:..7":                               "2",
		"deliveries>1":                             "3",
		"source:manual":                            "4",
		"source:192.0.2":                           "1235",
		"reason:unknown":                           "4",
		"has:reason":                               "4",
		"-has:bound":                               "3",
		"is:authenticated":                         "12345",
		"has:waiting":                              "2",
		"-has:waiting":                             "1345",
		"has!=waiting":                             "1345",
		"has:waiting,reason":                       "24",
		"has:waiting OR type:client":               "23",
		"-(has:waiting OR type:client)":            "145",
		`"oak & iron"`:                             "3",
		"conflict":                                 "5",
		"DE8937":                                   "2",
		"-treasury status:verified":                "13",
	} {
		e, err := eventfilter.Parse(in)
		if (err != nil) != (want == "error") {
			t.Errorf("%s: %v", in, err)
		}
		if err != nil {
			continue
		}
		got, q := "", eventfilter.Narrow(e, noon)
		for _, s := range all {
			if !e.Match(s, noon) {
				continue
			}
			got += fmt.Sprint(s.Seq)
			if !q.Match(s) {
				t.Errorf("%s: the inbox is asked for %+v, which lacks %d", in, q, s.Seq)
			}
		}
		if got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
		if again, err := eventfilter.Parse(e.String()); err != nil || again.String() != e.String() {
			t.Errorf("%s: printed as %s: %v", in, e, err)
		}
	}
}

// TestNarrow: what the inbox can choose by is left to it.
func TestNarrow(t *testing.T) {
	e, err := eventfilter.Parse("type:operation,requisite status:conflict received:2026-01..2026-02 id:" + opid + " oak")
	if err != nil {
		t.Fatal(err)
	}
	q := eventfilter.Narrow(e, noon)
	if fmt.Sprint(q.Types, q.Statuses) != "[OPERATION DEPOSIT_ACCOUNT_REQUISITE] [conflict]" || q.ObjectID != opid ||
		q.Since.Year() != 2025 || q.Until.Month() != time.March {
		t.Errorf("%+v", q)
	}
	for _, open := range []string{"type:unlisted", "-type:operation", "type:client OR status:conflict", "id:0f0e",
		"id:" + opid + ",x", "received!=2026-01-01", "oak", "received:today,yesterday"} {
		e, err := eventfilter.Parse(open)
		if err != nil {
			t.Fatal(err)
		}
		if q := eventfilter.Narrow(e, noon); fmt.Sprintf("%+v", q) != fmt.Sprintf("%+v", receiver.Filter{}) {
			t.Errorf("%s: %+v", open, q)
		}
	}
}

// TestMistakes are pointed at.
func TestMistakes(t *testing.T) {
	for in, want := range map[string]int{"type:x": 6, "oak status:x": 12, "received:x": 10, "size:1": 1, "type:": 6,
		"(oak": 1, "oak)": 4, "a OR": 5, `"oak`: 1, "hook>1": 5, "amount>x": 8, "ä size:1": 3} {
		_, err := eventfilter.Parse(in)
		var wrong *filter.Error
		if !errors.As(err, &wrong) || wrong.Column != want || wrong.What == "" {
			t.Errorf("%s: %v, want column %d", in, err, want)
		}
	}
}

// TestNobodyGuessesANumber: who may not reveal account numbers finds nothing by
// them, in bodies that can be read and in others.
func TestNobodyGuessesANumber(t *testing.T) {
	all := inbox(t)
	broken := all[1]
	broken.Raw, broken.Status, broken.Detail = []byte(`{"number":"DE89370400440532013000"`), receiver.Quarantined,
		"DE89370400440532013000"
	all = append(all, broken)
	as := func(r api.Role) context.Context {
		return api.WithActor(context.Background(), api.Actor{Name: "x", Role: r})
	}
	for in, may := range map[string]bool{"DE8937": false, "0532013": false, "treasury": true, "USD": true} {
		e, err := eventfilter.Parse(in)
		if err != nil {
			t.Fatal(err)
		}
		count := func(ctx context.Context) (n int) {
			for _, s := range all {
				if e.For(ctx).Match(s, noon) {
					n++
				}
			}
			return n
		}
		if n := count(as(api.Admin)); n == 0 {
			t.Errorf("%s: an admin finds nothing", in)
		}
		if n := count(as(api.Viewer)); (n > 0) != may {
			t.Errorf("%s: a viewer finds %d", in, n)
		}
	}
}

// TestDocumentedFields holds the table in docs/filter.md against the fields.
func TestDocumentedFields(t *testing.T) {
	filtertest.Documented(t, "../../../docs/filter.md", "events", "internal/domain/eventfilter", "",
		eventfilter.Table().Rows())
}
