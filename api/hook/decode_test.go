package hook

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"
)

const sampleID = "5b55db86-17e5-4612-81f9-29d3bd5082a1"

// sample returns a delivery of a type around an object's JSON.
func sample(typ, name, obj string) string {
	return `{"hook_id":"` + sampleID + `","hook_type":` + typ + `,"Data":{"` + name + `":` + obj + `}}`
}

const operationJSON = `{"cuid":"D7k3xbc-ERrj","opid":"0f0e6c5e-1111-4222-8333-444455556666","type":3,"status":1,
"payment_type":3,"is_visible":true,
"created_at":{"seconds":1700000000,"nanos":5},"updated_at":{"seconds":1700000001},"source":{"account":"U1v72kDJdQw"},
"destination":{"beneficiar":"U6OFFpEoEdHA"},
"source_amount":{"sum":{"currency_code":"USD","units":250,"nanos":10000000},
"default":{"currency_code":"USD","units":250,"nanos":10000000}},
"destination_amount":{"sum":{"currency_code":"EUR","nanos":-500000000}},
"commission_amount":{"sum":{"currency_code":"JPY"}},
"current_balance_amount":{"sum":{"currency_code":"USD","units":9007199254740993}}}`

func TestDecodeOperation(t *testing.T) {
	e, err := Decode([]byte(sample(`1`, "Operation", operationJSON)))
	if err != nil {
		t.Fatal(err)
	}
	n := e.Event
	if e.ID != sampleID || e.Type != TypeOperation || n.ObjectID != "0f0e6c5e-1111-4222-8333-444455556666" ||
		n.CUID != "D7k3xbc-ERrj" || len(n.Issues) > 0 {
		t.Fatalf("%+v", n)
	}
	for _, c := range []struct{ got, want string }{
		{n.SourceAmount.Sum.String(), "USD 250.01"}, {n.SourceAmount.Default.String(), "USD 250.01"},
		{n.DestinationAmount.Sum.String(), "EUR -0.5"}, {n.CommissionAmount.Sum.String(), "JPY 0"},
		{n.CurrentBalanceAmount.Sum.String(), "USD 9007199254740993"},
		{n.CreatedAt.String(), "2023-11-14T22:13:20.000000005Z"}, {n.UpdatedAt.String(), "2023-11-14T22:13:21Z"},
		{StatusText(n.Object, n.Status), "1 (unlisted)"}, {n.OperationType.String(), "3 (unlisted)"},
		{StatusText(n.Object, Code{}), "not given"},
		{string(e.Operation.Source.Account), "U1v72kDJdQw"}, {string(e.Operation.Destination.Beneficiar), "U6OFFpEoEdHA"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
	if n.IsVisible != Yes || n.PaymentType != (Code{3, true}) {
		t.Errorf("%+v", n)
	}
}

func TestDecodeOtherTypes(t *testing.T) {
	cases := []struct {
		typ, name, obj string
		id, cuid       string
		status         string
	}{
		{`3`, "Client",
			`{"cuid":"D1","status":3,"create_at":{"seconds":1},"update_at":{"seconds":2},"name":"Ana","lastname":"Ng"}`, "D1",
			"D1", "3 ACCEPT"},
		{`"2"`, "Account", `{"cuid":"D1","suid":"U1","status":3,"balance":{"money":{"currency_code":"EUR","units":5},` +
			`"default":{"currency_code":"USD","units":6}},"hold":{"money":{"currency_code":"EUR"}},` +
			`"requisites":[{"title":"T","items":[{"id":"a","key":"IBAN","value":"X","order":1}]}]}`, "U1", "D1", "3 ACCEPTED"},
		{`5`, "Account", `{"cuid":"D1","suid":"U1","status":6}`, "U1", "D1", "6 PROCESSING"},
		{`4`, "Counterparty",
			`{"suid":"U9","cuid":"D1","description":"d","accounts":[{"suid":"U8","currency_iso":"USD","status":6}]}`, "U9", "D1",
			"not given"},
		{`"1"`, "Operation", `{"opid":"op_12345"}`, "op_12345", "", "not given"},
	}
	for _, c := range cases {
		e, err := Decode([]byte(sample(c.typ, c.name, c.obj)))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		n := e.Event
		if string(n.ObjectID) != c.id || string(n.CUID) != c.cuid || StatusText(n.Object, n.Status) != c.status ||
			len(n.Issues) > 0 {
			t.Errorf("%s: %+v", c.name, n)
		}
	}
	e, _ := Decode([]byte(sample(`2`, "Account", cases[1].obj)))
	if a := e.Account; e.CurrentBalanceAmount.Default.String() != "USD 6" || a.Requisites[0].Items[0].Value != "X" ||
		a.Hold.Sum.String() != "EUR 0" {
		t.Errorf("%+v", a)
	}
	e, _ = Decode([]byte(sample(`4`, "Counterparty", cases[3].obj)))
	if got := StatusText(e.Object, e.Counterparty.Accounts[0].Status); got != "6 PROGRESS" {
		t.Error(got)
	}
}

// W11, W12, W15, W16: never a second identity, never a guess.
func TestMalformed(t *testing.T) {
	ok := sample(`1`, "Operation", `{"opid":"x"}`)
	id := `"hook_id":"` + sampleID + `"`
	deep := strings.Repeat(`[`, 20000) + strings.Repeat(`]`, 20000)
	cases := map[string]struct {
		body   string
		reason Reason
		id     bool
	}{
		"empty": {"", ReasonEmpty, false},
		"duplicate id": {`{` + id + `,` + id + `,"hook_type":1,"Data":{"Operation":{"opid":"x"}}}`,
			ReasonDuplicate, false},
		"case-variant second id": {`{` + id + `,"HOOK_ID":"B","hook_type":1,"Data":{"Operation":{"opid":"x"}}}`,
			ReasonDuplicate, false},
		"Kelvin sign in hook_id": {`{` + id + `,"hoo\u212a_id":"B","hook_type":1,"Data":{"Operation":{"opid":"x"}}}`,
			ReasonDuplicate, false},
		"escaped duplicate": {`{` + id + `,"hook\u005fid":"B","hook_type":1,"Data":{"Operation":{"opid":"x"}}}`,
			ReasonDuplicate, false},
		"other case alone":     {`{` + id + `,"hook_type":1,"data":{"Operation":{"opid":"x"}}}`, ReasonCase, false},
		"object in other case": {sample(`1`, "operation", `{"opid":"x"}`), ReasonCase, true},
		"null id":              {strings.Replace(ok, `"`+sampleID+`"`, `null`, 1), ReasonID, false},
		"missing id":           {`{"hook_type":1,"Data":{"Operation":{"opid":"x"}}}`, ReasonID, false},
		"id with NUL":          {strings.Replace(ok, sampleID, sampleID+`\u0000`, 1), ReasonID, false},
		"upper-case id":        {strings.Replace(ok, sampleID, strings.ToUpper(sampleID), 1), ReasonID, false},
		"braces":               {strings.Replace(ok, sampleID, "{"+sampleID+"}", 1), ReasonID, false},
		"version 1":            {strings.Replace(ok, "-4612-", "-1612-", 1), ReasonID, false},
		"wrong variant":        {strings.Replace(ok, "-81f9-", "-c1f9-", 1), ReasonID, false},
		"lone surrogate":       {sample(`3`, "Client", `{"cuid":"x","name":"\ud800"}`), ReasonEncoding, false},
		"surrogate and letter": {sample(`3`, "Client", `{"cuid":"x","name":"\ud800\u0041"}`), ReasonEncoding, false},
		"bad byte":             {sample(`3`, "Client", "{\"cuid\":\"x\",\"name\":\"\xff\"}"), ReasonEncoding, false},
		"BOM":                  {"\ufeff" + ok, ReasonJSON, false},
		"trailing data":        {ok + `{}`, ReasonJSON, false},
		"trailing comma":       {ok[:len(ok)-1] + `,}`, ReasonJSON, false},
		"cut":                  {ok[:len(ok)-1], ReasonJSON, false},
		"depth":                {deep, ReasonDepth, false},
		"depth inside":         {sample(`1`, "Operation", `{"opid":"x","a":`+deep+`}`), ReasonDepth, false},
		"array":                {`[` + ok + `]`, ReasonEnvelope, false},
		"null":                 {`null`, ReasonEnvelope, false},
		"type 0":               {sample(`0`, "Operation", `{"opid":"x"}`), ReasonType, true},
		"type 6":               {sample(`6`, "Operation", `{"opid":"x"}`), ReasonType, true},
		"type -1":              {sample(`-1`, "Operation", `{"opid":"x"}`), ReasonType, true},
		"type 1e9":             {sample(`1e9`, "Operation", `{"opid":"x"}`), ReasonType, true},
		"type 1.0":             {sample(`1.0`, "Operation", `{"opid":"x"}`), ReasonType, true},
		"type 01 as text":      {sample(`"01"`, "Operation", `{"opid":"x"}`), ReasonType, true},
		"type too large":       {sample(`99999999999999999999`, "Operation", `{"opid":"x"}`), ReasonType, true},
		"type true":            {sample(`true`, "Operation", `{"opid":"x"}`), ReasonEnvelope, true},
		"Data empty":           {`{` + id + `,"hook_type":1,"Data":{}}`, ReasonData, true},
		"Data missing":         {`{` + id + `,"hook_type":1}`, ReasonData, true},
		"two objects": {`{` + id + `,"hook_type":1,"Data":{"Operation":{"opid":"x"},"Client":{"cuid":"y"}}}`,
			ReasonData, true},
		"unknown object":         {sample(`1`, "Card", `{"opid":"x"}`), ReasonData, true},
		"object of another type": {sample(`1`, "Client", `{"cuid":"x"}`), ReasonData, true},
		"object is a list":       {sample(`1`, "Operation", `[]`), ReasonShape, true},
		"no opid":                {sample(`1`, "Operation", `{}`), ReasonShape, true},
		"opid with an escape":    {sample(`1`, "Operation", `{"opid":"a\u001b[2J"}`), ReasonShape, true},
		"status as text":         {sample(`1`, "Operation", `{"opid":"x","status":"1"}`), ReasonShape, true},
		"status with fraction":   {sample(`1`, "Operation", `{"opid":"x","status":1.5}`), ReasonShape, true},
		"account's status broken": {sample(`4`, "Counterparty", `{"suid":"x","accounts":[{"status":"a"}]}`), ReasonShape,
			true},
		"duplicate far behind": {`{` + manyNames(40) + `,"n7":1}`, ReasonDuplicate, false},
		"duplicate among many": {`{` + manyNames(40) + `,"N39":1}`, ReasonDuplicate, false},
		"many names":           {`{` + manyNames(40) + `}`, ReasonID, false},
		"duplicate deep inside": {sample(`1`, "Operation", `{"opid":"x","source_amount":{"sum":{"units":1,"Units":2}}}`),
			ReasonDuplicate, false},
	}
	for name, c := range cases {
		_, err := Decode([]byte(c.body))
		var m *Malformed
		if !errors.As(err, &m) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if m.Reason != c.reason || (m.ID != "") != c.id {
			t.Errorf("%s: reason %s, id %q (%s)", name, m.Reason, m.ID, m.Detail)
		}
		if !isPlain(m.Error()) {
			t.Errorf("%s: %q", name, m.Error())
		}
	}
}

// W17, W18: such parts are kept and marked; nothing else of the event suffers.
func TestOddAmountsAndMoments(t *testing.T) {
	amounts := map[string]bool{ // is it a number?
		`{"currency_code":"USD","units":9223372036854775808}`:        true, // beyond int64, exact all the same
		`{"currency_code":"USD","units":1.5}`:                        false,
		`{"currency_code":"USD","units":1e3}`:                        false,
		`{"currency_code":"USD","units":true}`:                       false,
		`{"currency_code":"USD","units":1,"nanos":2000000000}`:       false,
		`{"currency_code":"USD","units":1,"nanos":-1}`:               false,
		`{"currency_code":"usd","units":1}`:                          false,
		`{"currency_code":"$$$","units":1}`:                          false,
		`{"units":1}`:                                                false,
		`"12 USD"`:                                                   false,
		`{"currency_code":"USD","units":-1,"nanos":-1}`:              true,
		`{"currency_code":"USDT","units":"12345678901234567890123"}`: true,
	}
	for a, number := range amounts {
		e, err := Decode([]byte(sample(`1`, "Operation", `{"opid":"x","status":2,"source_amount":{"sum":`+a+`}}`)))
		if err != nil || e.Status.Value != 2 || (len(e.Issues) == 0) != number {
			t.Errorf("%s: %v, issues %v", a, err, e.Issues)
		}
	}
	moments := map[string]struct {
		text   string
		issues int
	}{
		`{"seconds":-5}`:                          {"1969-12-31T23:59:55Z", 0},
		`{}`:                                      {"1970-01-01T00:00:00Z", 0},
		`{"seconds":"1700000000","nanos":1}`:      {"2023-11-14T22:13:20.000000001Z", 0},
		`{"seconds":1831352112000}`:               {"1831352112000 s 0 ns", 1}, // year 60000
		`{"seconds":1,"nanos":1000000000}`:        {"", 1},
		`{"seconds":1e3}`:                         {"", 1},
		`{"seconds":99999999999999999999}`:        {"", 1},
		`"2023-11-14"`:                            {"", 1},
		`{"seconds":9223372036854775807}`:         {"9223372036854775807 s 0 ns", 1},
		`{"seconds":-9223372036854775808}`:        {"-9223372036854775808 s 0 ns", 1},
		`{"seconds":253402300799,"nanos":999999}`: {"9999-12-31T23:59:59.000999999Z", 0},
	}
	for m, want := range moments {
		e, err := Decode([]byte(sample(`1`, "Operation", `{"opid":"x","updated_at":`+m+`}`)))
		if err != nil || e.UpdatedAt.String() != want.text || len(e.Issues) != want.issues {
			t.Errorf("%s: %v %q %v", m, err, e.UpdatedAt, e.Issues)
			continue
		}
		if at, ok := e.UpdatedAt.Time(); ok {
			if _, err := json.Marshal(at); err != nil {
				t.Errorf("%s: %v", m, err)
			}
		}
	}
}

func TestIssuePaths(t *testing.T) {
	e, err := Decode([]byte(sample(`2`, "Account",
		`{"suid":"x","name":1,"hold":{"money":{"currency_code":"usd","units":1}},"requisites":[{},{"items":[{"key":[]}]}]}`)))
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, i := range e.Issues {
		paths = append(paths, i.Path)
	}
	if got := strings.Join(paths, " "); got != "Account.hold Account.name Account.requisites[1].items[0].key" {
		t.Error(got)
	}
	_, err = Decode([]byte(sample(`4`, "Counterparty", `{"suid":"x","accounts":[{"status":1},{"status":1.5}]}`)))
	if err == nil || !strings.Contains(err.Error(), "Counterparty.accounts[1].status is not a whole number") {
		t.Error(err)
	}
}

func TestStampOrder(t *testing.T) {
	in := []Stamp{{}, {-1, 5, true}, {0, 0, true}, {7, 1, true}, {7, 2, true}}
	for i, a := range in {
		for j, b := range in {
			if got, want := a.Compare(b), cmpInt(i, j); got != want {
				t.Errorf("%v to %v: %d, want %d", a, b, got, want)
			}
		}
	}
	if s := StampOf(time.Unix(7, 1)); s != in[3] {
		t.Error(s)
	}
}

func cmpInt(a, b int) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// FuzzDecode: what is no JSON is refused, an identity is one, and the bytes stay as
// they were. (jsontree.FuzzParse compares the values with those of encoding/json.)
func FuzzDecode(f *testing.F) {
	f.Add([]byte(sample(`1`, "Operation", operationJSON)))
	f.Add([]byte(sample(`"3"`, "Client", `{"cuid":"x","name":"\ud83d\ude00 \u00e9 \n"}`)))
	f.Add([]byte(`{"a":[1,-0.5e+7,null,true,"\\"],"b":{}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		before := string(b)
		if _, bad := parse(b); bad == nil {
			if !json.Valid(b) {
				t.Fatalf("read %q, which is no JSON", b)
			}
		}
		e, err := Decode(b)
		var m *Malformed
		switch {
		case err != nil && (!errors.As(err, &m) || m.Reason == ""):
			t.Fatalf("%v", err)
		case err != nil && m.ID != "" && !isUUID4(m.ID):
			t.Fatalf("identity %q", m.ID)
		case err == nil && (!isUUID4(e.ID) || !e.Type.Known() || e.ObjectID == "" || string(e.Raw) != before):
			t.Fatalf("%+v", e)
		}
		if string(b) != before {
			t.Fatal("the bytes were changed")
		}
	})
}

// isPlain reports whether s is printable ASCII, with the ellipsis of a cut.
func isPlain(s string) bool {
	for _, r := range strings.ReplaceAll(s, "…", "") {
		if r < ' ' || r > '~' {
			return false
		}
	}
	return true
}

func manyNames(n int) string {
	var names []string
	for i := range n {
		names = append(names, `"n`+strconv.Itoa(i)+`":0`)
	}
	return strings.Join(names, ",")
}
