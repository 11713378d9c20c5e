package sandbox

import (
	"context"
	"sort"
)

// getOperation: GET /v2/billing/operation/{id}.
func getOperation(c *call) (any, error) {
	o, err := findOperation(c, c.ro, c.params[0])
	if err != nil {
		return nil, err
	}
	return showOperation(c, c.ro, o)
}

func showOperation(c *call, q querier, o operationRow) (any, error) {
	list, err := renderAll(c.ctx, q, c.st.dataset(), []operationRow{o})
	if err != nil {
		return nil, err
	}
	return item(list[0]), nil
}

// operationTree: GET /v2/billing/operation/{id}/tree.
func operationTree(c *call) (any, error) {
	o, err := findOperation(c, c.ro, c.params[0])
	if err != nil {
		return nil, err
	}
	children, err := queryOperations(c.ctx, c.ro, `WHERE o.parent = ? ORDER BY o.n`, o.n)
	if err != nil {
		return nil, err
	}
	list, err := renderAll(c.ctx, c.ro, c.st.dataset(), append([]operationRow{o}, children...))
	if err != nil {
		return nil, err
	}
	provider := encode(patch{"provider": patch{"name": "sample rail", "reference": "SBXP-" + o.opid(c.st.Seed)[:8]}})
	return object{"item", mergePatch(list[0], provider), "children", list[1:]}, nil
}

// orderOf is the ORDER BY of a list, newest first. Numbers are enough, and fast, while they run in the order of time.
func orderOf(c *call) (string, error) {
	gaps, err := isIrregular(c.ctx, c.ro)
	if err != nil || gaps {
		return "o.created DESC, o.n", err
	}
	return "o.n", nil
}

// listOperations: GET /v2/billing/operation, newest first.
func listOperations(c *call) (any, error) {
	p, err := c.page()
	if err != nil {
		return nil, err
	}
	w, err := operationFilter(c)
	if err != nil {
		return nil, err
	}
	total, err := countOperations(c.ctx, c.ro, w)
	if err != nil {
		return nil, err
	}
	// The page is cut on ids alone: skipped rows are then never joined.
	order, err := orderOf(c)
	if err != nil {
		return nil, err
	}
	tail := `WHERE o.n IN (SELECT n FROM operation o` + w.String() + ` ORDER BY ` + order +
		` LIMIT ? OFFSET ?) ORDER BY ` + order
	ops, err := queryOperations(c.ctx, c.ro, tail, append(w.args, p.size, p.offset())...)
	if err != nil {
		return nil, err
	}
	items, err := renderAll(c.ctx, c.ro, c.st.dataset(), ops)
	return p.body(total, items), err
}

// countOperations knows the number of all operations without counting.
func countOperations(ctx context.Context, q querier, w *where) (int64, error) {
	if len(w.terms) == 0 {
		return count(ctx, q, `SELECT value FROM counter WHERE name = 'operations'`)
	}
	return count(ctx, q, `SELECT count(*) FROM operation o`+w.String(), w.args...)
}

func operationFilter(c *call) (*where, error) {
	q, w := c.r.URL.Query(), &where{}
	if a := q.Get("account"); a != "" {
		const accounts = "(SELECT n FROM account WHERE id = ? OR number = ?)"
		w.add("(o.account IN "+accounts+" OR o.account2 IN "+accounts+")", a, a, a, a)
	}
	owner := &where{}
	owner.equal("cuid", q.Get("clientCuid"))
	owner.contains("display", q.Get("clientName"))
	if len(owner.terms) > 0 {
		w.add("o.customer IN (SELECT n FROM customer"+owner.String()+")", owner.args...)
	}
	w.code("o.status", operationStatuses, q.Get("status"))
	w.code("o.type", operationTypes, q.Get("type"))
	w.code("o.pay", paymentTypes, q.Get("paymentType"))
	return w, createdBetween(c, w)
}

// createdBetween turns bounds of time into bounds of numbers: operations are
// numbered from the newest on.
func createdBetween(c *call, w *where) error {
	times := &where{}
	if err := times.between(c, "", "fromCreatedAt", "toCreatedAt"); err != nil || len(times.terms) == 0 {
		return err
	}
	gaps, err := isIrregular(c.ctx, c.ro)
	if err == nil && gaps {
		return w.between(c, "o.created", "fromCreatedAt", "toCreatedAt")
	}
	if err != nil {
		return err
	}
	total, err := countOperations(c.ctx, c.ro, &where{})
	if err != nil {
		return err
	}
	for i, term := range times.terms {
		bound, from := times.args[i].(int64), term == " >= ?"
		n, err := numberAt(c.ctx, c.ro, int(total), bound, from)
		if err != nil {
			return err
		}
		if from {
			w.add("o.n < ?", n)
		} else {
			w.add("o.n >= ?", n)
		}
	}
	return nil
}

// numberAt returns the first number whose operation is older than bound, or with
// equal false one that is as old as bound too.
func numberAt(ctx context.Context, q querier, total int, bound int64, equal bool) (int, error) {
	var failed error
	n := sort.Search(total, func(n int) bool {
		created, err := count(ctx, q, `SELECT created FROM operation WHERE n = ?`, n)
		if err != nil {
			failed = err
		}
		return created < bound || !equal && created == bound
	})
	return n, failed
}
