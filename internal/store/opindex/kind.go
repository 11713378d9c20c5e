package opindex

import (
	"context"
	"slices"
	"time"

	"opdeck/api"
	"opdeck/api/untrusted"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/field"
	"opdeck/internal/store"
)

// kind is a row of index_kind with a representative operation, on which the filter's Go predicate decides about codes
// and flags.
type kind struct {
	n    int64
	key  kindKey
	sum  sums
	like *api.Operation
}

// kindFields are the fields that the kind alone decides.
var kindFields = []string{field.OpStatus, filter.FieldPhase, field.OpType, field.OpPayment, field.OpCurrency,
	filter.FieldToCurrency}

// rowFlags are the values of has that the row's own columns decide.
var rowFlags = map[string]string{"comment": "o.comment <> ''", "reference": "o.reference <> ''"}

func kindLeaf(l *filter.Leaf) bool {
	return slices.Contains(kindFields, l.Field) ||
		l.Field == filter.FieldHas &&
			!slices.ContainsFunc(l.Values, func(v filter.Value) bool { return rowFlags[v.Text] != "" })
}

// kindTerms decides the comparisons of a filter that the kinds of a scope decide.
type kindTerms struct {
	f   filter.OperationExpr
	all []kind
	now time.Time
}

// matching lists the kinds that fulfil a comparison.
func (t kindTerms) matching(l *filter.Leaf) (out []kind) {
	only := t.f.Of(l)
	for _, k := range t.all {
		if only.Match(*k.like, t.now) {
			out = append(out, k)
		}
	}
	return out
}

// prune drops the alternatives that no kind fulfils; none: nothing can match the parts.
func (t kindTerms) prune(parts filter.And) (out filter.And, none bool) {
	for _, n := range parts {
		n, never := t.pruned(n)
		if never {
			return nil, true
		}
		out = append(out, n)
	}
	return out, false
}

func (t kindTerms) pruned(n filter.Node) (out filter.Node, never bool) {
	switch n := n.(type) {
	case *filter.Leaf:
		return n, kindLeaf(n) && len(t.matching(n)) == 0
	case filter.And:
		all, none := t.prune(n)
		return all, none
	case filter.Or:
		var all filter.Or
		for _, part := range n {
			if part, never := t.pruned(part); !never {
				all = append(all, part)
			}
		}
		if len(all) == 1 {
			return all[0], false
		}
		return all, len(all) == 0
	}
	return n, false
}

// ofKinds is a SELECT of the rows of few kinds.
func (p *opPlan) ofKinds(l *filter.Leaf) (c filter.Cond, ok bool) {
	kinds := p.is.matching(l)
	var rows int64
	for _, k := range kinds {
		rows += k.sum.ops
	}
	in := p.x.kindIn("kind", kinds)
	return cond("SELECT n FROM index_op "+p.x.by("index_op_kind")+"WHERE "+in.SQL, in.Args...), rows <= scanLimit
}

func kindOnly(e filter.OperationExpr, n filter.Node) bool {
	only := true
	e.Of(n).Leaves(func(l *filter.Leaf) { only = only && kindLeaf(l) })
	return only
}

// loadKinds returns all kinds of the scope; they are cached until the index changes.
func (x *Store) loadKinds(ctx context.Context) ([]kind, error) {
	v, err := x.Version(ctx)
	if err != nil {
		return nil, err
	}
	x.mu.Lock()
	if x.version == v {
		defer x.mu.Unlock()
		return x.loaded, nil
	}
	x.mu.Unlock()
	list, err := store.List(ctx, x.q, func(scan store.Scan) (k kind, err error) {
		c := &k.key
		err = scan(&k.n, &c.status, &c.typ, &c.payment, &c.currency, &c.tocurrency, &c.flags, &k.sum.ops, &k.sum.hi,
			&k.sum.lo, &k.sum.nanos)
		k.like = c.operation()
		return k, err
	}, "SELECT n, status, type, payment, currency, tocurrency, flags, ops, hi, lo, nanos "+
		"FROM index_kind WHERE scope = ? AND ops > 0 ORDER BY n", x.scope)
	if err != nil {
		return nil, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.loaded, x.version = list, v
	return list, nil
}

func (k kindKey) operation() *api.Operation {
	o := &api.Operation{Status: untrusted.Text(k.status), Type: untrusted.Text(k.typ),
		PaymentType: untrusted.Text(k.payment),
		IsVisible:   k.flags&(flagHidden|flagSaysVisible) == flagSaysVisible,
		IsParent:    k.flags&flagParent != 0, Raw: k.reported()}
	o.SourceAmount.Sum.CurrencyCode = untrusted.Text(k.currency)
	o.DestinationAmount.Sum.CurrencyCode = untrusted.Text(k.tocurrency)
	if k.flags&flagBad != 0 {
		o.SourceAmount.Sum.Units = "?"
	}
	switch {
	case k.flags&flagLocked != 0:
		o.Documents = []api.Document{{Lock: api.Locked}}
	case k.flags&(flagDoc|flagSaysLock) == flagDoc|flagSaysLock:
		o.Documents = []api.Document{{Lock: api.Unlocked}}
	case k.flags&flagDoc != 0:
		o.Documents = []api.Document{{}}
	case k.flags&flagSaysDocs != 0:
		o.Documents = []api.Document{}
	}
	return o
}

// reported is a record with the yes/no members that the answer had.
func (k kindKey) reported() []byte {
	switch k.flags & (flagSaysVisible | flagSaysParent) {
	case flagSaysVisible:
		return []byte(`{"isVisible":true}`)
	case flagSaysParent:
		return []byte(`{"isParent":true}`)
	case 0:
		return []byte(`{}`)
	}
	return nil // all
}
