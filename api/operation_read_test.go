package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/x/exp/golden"

	"opdeck/api/jsontree"
	"opdeck/api/untrusted"
)

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
	`{"documents":[{"size":"1006","isLock":"false"}]}`, `{"documents":[{"size":"x","isLock":"maybe"}]}`, `{"documents":[{"size":" 7 "},"g",7,[]]}`, `{"documents":[null,{},{"guid":"g"}]}`, `{"documents":[null]}`, `{"documents":"none"}`, `{"customer":"c"}`,
	`{"createdAt":1767323045}`, `{"updatedAt":"1767323045678"}`, `[]`, `"x"`, `7`, `{"source":{"account":7}}`, `{"sourceAmount":{"sum":{"currencyCode":978,"units":true}}}`,
	`{"x":,}`, `{"x":tru}`, `{"x":[}`, `{"x":"\q"}`, `{"opid":"a",}`, `{"opid" "a"}`, `{"\u006fpid":"a"}`, `{"o\u017fid":"a"}`, `{"ſtatus":"x"}`, ``, `{`, `{"x":1 2}`}

// FuzzOperation: each JSON object is read and kept, nothing else is; what has no documented form is listed, and what
// was read is written in a form that is read alike.
func FuzzOperation(f *testing.F) {
	f.Add([]byte(fullOperation))
	for _, s := range oddOperations {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := ReadOperation(b)
		v := ParseJSON(b)
		if is := v.Kind() == jsontree.Object || v.Null(); is && json.Valid(b) != (err == nil) {
			t.Fatalf("%q: %v", b, err)
		}
		if err != nil {
			return
		}
		for _, f := range got.Unknown() {
			if f.Path == "" || len(f.Value) == 0 {
				t.Fatalf("%q: %+v", b, f)
			}
		}
		if opid := v.Member("opid"); (got.OPID != "") != (opid.Text() != "") && !saysTwice(b) {
			t.Fatalf("%q has the opid %q", b, got.OPID)
		}
		written, err := json.Marshal(plainOperation(got))
		if err != nil {
			t.Fatal(err)
		}
		again, err := ReadOperation(written)
		if err != nil || again.OPID != got.OPID || again.Status != got.Status || again.IsParent != got.IsParent ||
			len(again.Documents) != len(got.Documents) || !again.CreatedAt.Equal(got.CreatedAt.Time) {
			t.Fatalf("%q is read again as %+v, %v", written, again, err)
		}
	})
}

// TestReadOddOperations: the golden file has what each of them is read as.
func TestReadOddOperations(t *testing.T) {
	var b strings.Builder
	for _, s := range append(oddOperations, fullOperation) {
		o, err := ReadOperation([]byte(s))
		read, marshalErr := json.Marshal(plainOperation(o))
		if marshalErr != nil {
			t.Fatal(marshalErr)
		}
		fmt.Fprintf(&b, "%q\n  refused: %t, created %s, updated %s\n  %s\n", s, err != nil, o.CreatedAt.Time, o.UpdatedAt.Time, read)
	}
	golden.RequireEqual(t, []byte(b.String()))
}

func BenchmarkReadOperation(b *testing.B) {
	body := []byte(fullOperation)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ReadOperation(body); err != nil {
			b.Fatal(err)
		}
	}
}

// TestMembersThatStandTwice: none counts, and the earlier ones are reported.
func TestMembersThatStandTwice(t *testing.T) {
	o, err := ReadOperation([]byte(`{"status":"PENDING","status":"SUCCESS","x":1,"x":2,"customer":{"cuid":"a","cuid":"b"},"documents":[{"guid":"g","isLock":true,"isLock":false,"size":1,"size":2}],"createdAt":"2026-01-01","createdAt":"2026-01-02","isParent":false,"isParent":true,"comment":"a","comment":"b"}`))
	if d := o.Documents[0]; err != nil || o.Status != "" || o.Customer.CUID != "" || d.Lock != LockUnknown || d.Size != -1 || !o.CreatedAt.Unread() ||
		o.IsParent || HasFlag(o.Raw, "isParent") || HasText(o.Raw, "comment") {
		t.Fatalf("%+v, %v", o, err)
	}
	var got []string
	for _, d := range Details(o.Unknown()) {
		got = append(got, d.Label+" "+string(d.Value))
	}
	want := []string{"comment, sent earlier a", "createdAt, sent earlier 2026-01-01", "customer.cuid, sent earlier a", "documents[0].isLock, sent earlier true", "documents[0].size, sent earlier 1", "isParent, sent earlier false", "status, sent earlier PENDING", "x 2", "x, sent earlier 1"}
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// BenchmarkReadPage reads an answer with a hundred operations, as a list does.
func BenchmarkReadPage(b *testing.B) {
	items := strings.TrimSuffix(strings.Repeat(fullOperation+",", 100), ",")
	body := []byte(`{"meta":{"page":0,"pageSize":100,"total":"20000"},"items":[` + items + `]}`)
	a := Answer{Status: 200, Header: http.Header{"Content-Type": {"application/json"}}, Body: body}
	b.ReportAllocs()
	for b.Loop() {
		p, err := PageIn[Operation](Service{}, Request{Op: "list"}, a, OperationRecord)
		if err != nil || len(p.Items) != 100 {
			b.Fatal(err)
		}
	}
}

// TestStatusWordsInOtherSpellings: case and the prefix of an enumeration do not hide an end state.
func TestStatusWordsInOtherSpellings(t *testing.T) {
	for word, want := range map[string]Phase{"completed": PhaseCompleted, "OPERATION_STATUS_FAILED": PhaseFailed, "Status_Pending": PhaseOpen,
		" SUCCESS ": PhaseCompleted, "operation_canceled": PhaseCanceled, "NOT_COMPLETED": PhaseUnknown, "STATUS_": PhaseUnknown, "": PhaseUnknown} {
		if got := (Operation{Status: untrusted.Text(word)}).Phase(); got != want {
			t.Errorf("%q is %s, want %s", word, got.Word(), want.Word())
		}
	}
}
