package opindex

import (
	"context"
	"slices"

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
	case k.flags&flagDoc != 0:
		o.Documents = []api.Document{{IsLock: k.flags&flagLocked != 0}}
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
