package sandbox

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	"opdeck/internal/e2e/racedetector"
)

// shownOperations are all operations as a read shows them.
func shownOperations(t *testing.T, s *Service) (list []shownOperation) {
	t.Helper()
	for _, r := range allOperations(t, s) {
		var o shownOperation
		if err := json.Unmarshal(r, &o); err != nil {
			t.Fatal(err)
		}
		list = append(list, o)
	}
	return list
}

// TestOrdinaryData: the sample data have only words, currencies, amounts and texts that occur.
func TestOrdinaryData(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]Options{"fixed": {}, "living": {Living: true}} {
		o.Path, o.Now = filepath.Join(t.TempDir(), name+".db"), (&clock{}).now
		s, err := Open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		list := shownOperations(t, s)
		stuck, old := 0, 0
		for _, o := range list {
			ordinaryOperation(t, o)
			created, err := time.Parse(time.RFC3339Nano, o.CreatedAt)
			newest, err2 := time.Parse(time.RFC3339Nano, list[0].CreatedAt)
			if err != nil || err2 != nil {
				t.Fatal(err, err2)
			}
			if newest.Sub(created) > settleAfter && !o.IsParent {
				old++
				if o.Status == "PENDING" || o.Status == "PROCESSING" {
					stuck++
				}
			}
		}
		if name == "living" && (old < 300 || stuck == 0 || stuck > old/10) {
			t.Errorf("%d of %d old operations are open", stuck, old)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

func ordinaryOperation(t *testing.T, o shownOperation) {
	t.Helper()
	for _, word := range []struct {
		names []string
		is    string
	}{{operationStatuses[1:], o.Status}, {operationTypes[1:], o.Type}, {paymentTypes, o.PaymentType}} {
		if codeOf(word.names, word.is) < 0 {
			t.Errorf("the word %q", word.is)
		}
	}
	for _, a := range []amount{o.SourceAmount, o.DestinationAmount, o.CommissionAmount, o.CurrentBalanceAmount} {
		units, err := strconv.ParseInt(a.Sum.Units, 10, 64)
		if err != nil || units < 0 || a.Sum.Nanos < 0 || units > 1_000_000_000 || dollarsPerMille[a.Sum.Currency] == 0 {
			t.Errorf("%+v %v", a.Sum, err)
		}
		if step := int64(1_000_000_000); digitsOf(a.Sum.Currency) < 8 {
			for range digitsOf(a.Sum.Currency) {
				step /= 10
			}
			if a.Sum.Nanos%step != 0 {
				t.Errorf("%+v has too many decimals", a.Sum)
			}
		}
	}
	source, fee := o.SourceAmount.Sum.inDollars(), o.CommissionAmount.Sum.inDollars()
	if f, _ := strconv.Atoi(fee.Units); source.Units != "0" && f > 20 {
		if whole, _ := strconv.Atoi(source.Units); f > whole {
			t.Errorf("a fee of %+v for %+v", o.CommissionAmount.Sum, o.SourceAmount.Sum)
		}
	}
	all, hidden := string(encode(o)), func(r rune) bool { return unicode.In(r, unicode.C) }
	if strings.ContainsFunc(all, hidden) || strings.Contains(all, `\u`) || len(all) > 8000 {
		t.Errorf("not an ordinary text: %q", all)
	}
	if o.Source == nil || o.Destination == nil || strings.Contains(all, "ODD") {
		t.Errorf("not an ordinary record: %s", all)
	}
	for _, d := range o.Documents {
		if strings.Contains(string(encode(d)), "PASSPORT") {
			t.Errorf("a passport on a payment: %+v", d)
		}
	}
}

// TestWebhooksAgree: in twenty minutes of a living service every event has the code of the word that a read shows
// then, and each code has one word.
func TestWebhooksAgree(t *testing.T) {
	racedetector.Skip(t)
	t.Parallel()
	c := &clock{}
	s, err := Open(t.Context(), Options{Living: true, Now: c.now, Operations: 60})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	words, events := map[string]string{}, 0
	for range int(20 * time.Minute / heartbeat) {
		c.step(heartbeat)
		if err := s.beat(t.Context()); err != nil {
			t.Fatal(err)
		}
		events += learned(t, s, words)
	}
	byWord := map[string]string{}
	for code, word := range maps.All(words) {
		field, _, _ := strings.Cut(code, " ")
		if other := byWord[field+word]; other != "" {
			t.Errorf("%s is both %s and %s", word, code, other)
		}
		byWord[field+word] = code
	}
	if events < 190 || len(words) < 8 {
		t.Errorf("%d events, the codes %v", events, words)
	}
}

// learned reads the last event and its operation, and adds the pairs of code and word.
func learned(t *testing.T, s *Service, words map[string]string) int {
	t.Helper()
	var body string
	if err := s.db.QueryRowContext(t.Context(), `SELECT body FROM outbox ORDER BY id DESC LIMIT 1`).Scan(&body); err != nil {
		t.Fatal(err)
	}
	var e struct {
		Data struct {
			Operation struct {
				Opid         string
				Status, Type int
				Payment      int       `json:"payment_type"`
				Source       hookMoney `json:"source_amount"`
				Fee          hookMoney `json:"commission_amount"`
			}
		}
	}
	if err := json.Unmarshal([]byte(body), &e); err != nil {
		t.Fatal(err)
	}
	is := e.Data.Operation
	for _, o := range shownOperations(t, s) {
		if o.Opid != is.Opid {
			continue
		}
		for field, pair := range map[string]struct {
			code int
			word string
		}{"status": {is.Status, o.Status}, "type": {is.Type, o.Type}, "payment": {is.Payment, o.PaymentType}} {
			key := fmt.Sprintf("%s %d", field, pair.code)
			if before := words[key]; before != "" && before != pair.word {
				t.Errorf("%s is %s and %s", key, before, pair.word)
			}
			words[key] = pair.word
		}
		is.Source.agrees(t, o.SourceAmount)
		is.Fee.agrees(t, o.CommissionAmount)
		return 1
	}
	t.Errorf("an event of no operation: %s", body)
	return 0
}

type hookMoney struct {
	Sum struct {
		Currency string      `json:"currency_code"`
		Units    json.Number `json:"units"`
		Nanos    int64       `json:"nanos"`
	} `json:"sum"`
}

func (m hookMoney) agrees(t *testing.T, a amount) {
	t.Helper()
	units := m.Sum.Units.String()
	if units == "" && a.Sum.Units == "0" {
		units = "0"
	}
	if m.Sum.Currency != a.Sum.Currency || units != a.Sum.Units || m.Sum.Nanos != a.Sum.Nanos {
		t.Errorf("the event has %+v, the answer %+v", m.Sum, a.Sum)
	}
}
