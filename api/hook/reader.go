package hook

import (
	"strconv"

	"opdeck/api"
	"opdeck/api/jsontree"
	"opdeck/api/untrusted"
)

// reader decodes an object. An unreadable identity or code makes the delivery malformed; anything else is an Issue.
type reader struct {
	v    jsontree.Value
	path [4]string // names of the enclosing parts, outermost first; "" after them
	root *Envelope
	bad  *Malformed
}

const maxIssues = 50 // per delivery, so that a hostile one cannot grow the list

// at is the path of a part for people: "Operation.source_amount.sum".
func (r *reader) at(key string) string {
	name := ""
	for _, p := range r.path {
		if p != "" {
			name += p + "."
		}
	}
	return name + key
}

// below returns a reader of a part.
func (r *reader) below(key string, v jsontree.Value) reader {
	part := reader{v: v, path: r.path, root: r.root}
	for i := range part.path {
		if part.path[i] == "" {
			part.path[i] = key
			break
		}
	}
	return part
}

func (r *reader) issue(key, why string) {
	if len(r.root.Issues) < maxIssues {
		r.root.Issues = append(r.root.Issues, Issue{Path: r.at(key), Why: why})
	}
}

func (r *reader) fail(key, why string) {
	r.bad = first(r.bad, &Malformed{Reason: ReasonShape, Detail: r.at(key) + " " + why})
}

func first(a, b *Malformed) *Malformed {
	if a != nil {
		return a
	}
	return b
}

// id reads an identifier (api.CheckID).
func (r *reader) id(key string, required bool) untrusted.Text {
	v, ok := r.v.Get(key)
	switch {
	case !ok && !required:
		return ""
	case !ok:
		r.fail(key, "is missing")
		return ""
	case v.Kind() != jsontree.String || api.CheckID("id", v.Text()) != nil:
		r.fail(key, "is not an identifier: "+show(v))
		return ""
	}
	return untrusted.Text(v.Text())
}

// text reads any text; another value is kept as its JSON.
func (r *reader) text(key string) untrusted.Text {
	v, ok := r.v.Get(key)
	switch {
	case !ok:
		return ""
	case v.Kind() != jsontree.String:
		r.issue(key, "is not text")
		return untrusted.Text(v.Raw())
	}
	return untrusted.Text(v.Text())
}

// code reads a whole number; a missing one is not zero.
func (r *reader) code(key string) Code {
	v, ok := r.v.Get(key)
	if !ok {
		return Code{}
	}
	n, whole := integer(string(v.Raw()))
	if !whole {
		r.fail(key, "is not a whole number: "+show(v))
		return Code{}
	}
	return Code{Value: n, Given: true}
}

// position is code for a number that nothing depends on.
func (r *reader) position(key string) Code {
	v, ok := r.v.Get(key)
	if !ok {
		return Code{}
	}
	n, whole := integer(string(v.Raw()))
	if !whole {
		r.issue(key, "is not a whole number")
	}
	return Code{Value: n, Given: whole}
}

func (r *reader) flag(key string) Flag {
	v, ok := r.v.Get(key)
	switch {
	case !ok:
		return NotGiven
	case v.Kind() == jsontree.Word && string(v.Raw()) == "true":
		return Yes
	case v.Kind() == jsontree.Word:
		return No
	}
	r.issue(key, "is neither true nor false")
	return NotGiven
}

// stamp reads {seconds, nanos}; either may be omitted when zero, but not both. Seconds may be a text with a number,
// as in amounts.
func (r *reader) stamp(key string) Stamp {
	v, ok := r.v.Get(key)
	if !ok {
		return Stamp{}
	}
	if v.Kind() != jsontree.Object {
		r.issue(key, "is not a timestamp")
		return Stamp{}
	}
	sec, ok1 := optional(v, "seconds")
	nanos, ok2 := optional(v, "nanos")
	if !ok1 || !ok2 || nanos < 0 || nanos > 999_999_999 {
		r.issue(key, "has seconds or nanoseconds out of range")
		return Stamp{}
	}
	s := Stamp{Seconds: sec, Nanos: int32(nanos), Given: true}
	if _, ok := s.Time(); !ok {
		r.issue(key, "is outside the years 1 to 9999")
	}
	return s
}

func optional(v jsontree.Value, key string) (int64, bool) {
	n, ok := v.Get(key)
	if !ok {
		return 0, true
	}
	if n.Kind() == jsontree.String {
		return integer(n.Text())
	}
	return integer(string(n.Raw()))
}

func (r *reader) side(key string) Side {
	o := r.object(key)
	return Side{Account: o.text("account"), Beneficiar: o.text("beneficiar")}
}

// amount reads {sum, default} or, of accounts, {money, default}.
func (r *reader) amount(key, sum string) api.Amount {
	v, given := r.v.Get(key)
	o := r.object(key)
	a := api.Amount{Sum: o.money(sum)}
	if _, ok := o.v.Get("default"); ok {
		d := o.money("default")
		a.Default = &d
	}
	if given && (v.Kind() != jsontree.Object || !api.WrapsAmount(v, sum)) {
		a.Sum = r.unclear(key, v, api.ErrUnclear.Error())
	}
	return a
}

// money keeps the parts unchanged and records why they are not an amount.
func (r *reader) money(key string) api.Money {
	v, _ := r.v.Get(key)
	m := api.ReadMoney(v, true)
	if m.Empty() {
		return m
	}
	if _, err := m.Decimal(); err != nil {
		r.issue(key, err.Error())
	} else if !isCurrency(string(m.CurrencyCode)) {
		return r.unclear(key, v, "the currency is not a code of three to ten capitals and digits")
	}
	return m
}

func (r *reader) unclear(key string, v jsontree.Value, why string) api.Money {
	r.issue(key, why)
	return api.Money{Unclear: true, Holds: untrusted.Text(v.Keys())}
}

// isCurrency accepts ISO 4217 codes and the longer ones of digital currencies.
func isCurrency(s string) bool {
	for i := 0; i < len(s); i++ {
		if (s[i] < 'A' || s[i] > 'Z') && (s[i] < '0' || s[i] > '9') {
			return false
		}
	}
	return len(s) >= 3 && len(s) <= 10
}

// object returns a reader of a part; a missing part or one of another type is empty.
func (r *reader) object(key string) reader {
	v, ok := r.v.Get(key)
	if ok && v.Kind() != jsontree.Object {
		r.issue(key, "is not an object")
		v = jsontree.Value{}
	}
	return r.below(key, v)
}

// list returns a reader for each object of a list.
func (r *reader) list(key string) []*reader {
	v, ok := r.v.Get(key)
	if !ok {
		return nil
	}
	if v.Kind() != jsontree.Array {
		r.issue(key, "is not a list")
		return nil
	}
	var out []*reader
	i := 0
	for _, it := range v.Members() {
		name := key + "[" + strconv.Itoa(i) + "]"
		if i++; it.Kind() != jsontree.Object {
			r.issue(name, "is not an object")
			continue
		}
		part := r.below(name, it)
		out = append(out, &part)
	}
	return out
}
