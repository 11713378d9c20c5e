package api

import (
	"encoding/json"
	"reflect"
	"testing"
)

// library reads an operation with encoding/json alone.
func library(b []byte) (Operation, error) {
	type plain Operation
	var p plain
	err := json.Unmarshal(b, &p)
	return Operation(p), err
}

const fullOperation = `{"opid":"a1","isVisible":true,"status":"PENDING","type":"WITHDRAW","paymentType":"SWIFT",
 "createdAt":"2026-01-02T03:04:05.678Z","updatedAt":"2026-01-02T03:04:06Z",
 "source":{"account":{"id":"1","name":"Main \u0026 Co","number":"DE89","customer":{"cuid":"c","name":"Ünï 秀英"}}},
 "destination":{"counterpartyAccount":{"id":"2","name":"n","number":"x","counterparty":{"suid":"s","name":"N","bankName":"B"}}},
 "sourceAmount":{"sum":{"currencyCode":"EUR","units":"12","nanos":500000000}},
 "destinationAmount":{"sum":{"currencyCode":"USD","units":12,"nanos":0},"default":{"currencyCode":"USD","units":"1","nanos":null}},
 "commissionAmount":{"sum":{"currencyCode":"","units":"","nanos":0}},"currentBalanceAmount":null,
 "comment":"tab\there","isParent":false,"reference":null,"customer":{"cuid":"c","name":"n"},
 "documents":[{"guid":"g","fileName":"f.pdf","size":123,"mime":"m","docType":"d","info":"i","isLock":true,"createAt":"2026-01-02"},null],
 "extra":{"a":[1,2,{"b":"}"}]}}`

var oddOperations = []string{`{}`, `null`, ` { } `, `{"OPID":"x"}`, `{"opid":"a","opid":"b"}`, `{"opid":1}`, `{"isVisible":"yes"}`,
	`{"documents":[]}`, `{"documents":{}}`, `{"documents":[{"size":1.5}]}`, `{"documents":[{"size":-0}]}`, `{"documents":[{"size":9223372036854775808}]}`,
	`{"source":[]}`, `{"source":{"account":null,"account":{}}}`, `{"createdAt":12}`, `{"createdAt":{}}`, `{"sourceAmount":{"sum":{"units":1e3}}}`,
	`{"sourceAmount":{"sum":{"units":01}}}`, `{"sourceAmount":{"sum":{"units":"\u0031"}}}`, `{"opid":"\ud800"}`, "{\"opid\":\"\xff\"}", `{"opid":"a"}x`,
	`{"opid":12}`, `{"opid":true}`, `{"opid":1.5}`, `{"opid":{}}`, `{"isVisible":"true"}`, `{"isVisible":1}`, `{"isParent":"0"}`, `{"isParent":[]}`,
	`{"documents":[{"size":"1006","isLock":"false"}]}`, `{"documents":[{"size":"x","isLock":"maybe"}]}`, `{"documents":[{"size":" 7 "},"g",7,[]]}`, `{"documents":"none"}`, `{"customer":"c"}`,
	`{"createdAt":1767323045}`, `{"updatedAt":"1767323045678"}`, `[]`, `"x"`, `7`, `{"source":{"account":7}}`, `{"sourceAmount":{"sum":{"currencyCode":978,"units":true}}}`,
	`{"x":,}`, `{"x":tru}`, `{"x":[}`, `{"x":"\q"}`, `{"opid":"a",}`, `{"opid" "a"}`, `{"\u006fpid":"a"}`, `{"o\u017fid":"a"}`, `{"ſtatus":"x"}`, ``, `{`, `{"x":1 2}`}

// fast reads an operation by the reader alone.
func fast(b []byte) (o Operation, ok bool) {
	r := reader{b: b}
	r.record(reflect.ValueOf(&o).Elem(), operationLayout)
	return o, r.end()
}

// tolerant reads an operation by readRecord alone.
func tolerant(b []byte) (Operation, error) {
	type plain Operation
	var p plain
	err := readRecord(b, &p)
	return Operation(p), err
}

// FuzzOperation: where the fast reader answers, its answer is that of readRecord,
// whose answer is the library's wherever the library reads the record.
func FuzzOperation(f *testing.F) {
	f.Add([]byte(fullOperation))
	for _, s := range oddOperations {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		want, err := tolerant(b)
		if lib, libErr := library(b); libErr == nil && (err != nil || !reflect.DeepEqual(want, lib)) {
			t.Fatalf("%q\n got %+v, %v\nwant %+v", b, want, err, lib)
		}
		got, ok := fast(b)
		if !ok {
			return
		}
		if err != nil {
			t.Fatalf("%q was read, but readRecord says %v", b, err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%q\n got %+v\nwant %+v", b, got, want)
		}
	})
}

func TestReadOperation(t *testing.T) {
	if _, ok := fast([]byte(fullOperation)); !ok {
		t.Fatal("the usual shape is left to the library")
	}
	for _, s := range append(oddOperations, fullOperation) {
		want, wantErr := tolerant([]byte(s))
		want.Raw = json.RawMessage(s)
		got, err := ReadOperation([]byte(s))
		if (err == nil) != (wantErr == nil) || err == nil && !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n got %+v, %v\nwant %+v, %v", s, got, err, want, wantErr)
		}
	}
}

func BenchmarkReadOperation(b *testing.B) {
	body := []byte(fullOperation)
	b.Run("fast", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := ReadOperation(body); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("library", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := library(body); err != nil {
				b.Fatal(err)
			}
		}
	})
}
