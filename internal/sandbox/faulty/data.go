package faulty

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"opdeck/internal/sandbox"
)

// Variants: the service answers otherwise where its documents say nothing.
const (
	variantPost   = "customer-by-post"   // a customer is read by POST; GET is 405
	variantHidden = "hidden-application" // the application cannot be read: 404
	variantApart  = "share-apart"        // a share changes neither the application nor the customer's status
	variantWhole  = "whole-tree"         // the tree of a child is that of its parent
)

var variantWords = []string{variantPost, variantHidden, variantApart, variantWhole}

// orders of lists of operations. "newest" is the usual one; the rows of "none"
// are in no order, but always in the same; those of "unstable" do not.
var orders = []string{"newest", "none", "oldest", "unstable", "updated", "updated-oldest"}

// operation returns the call's operation as it is now, if a reply needs it.
func (c *call) operation() []byte {
	wanted := slices.ContainsFunc(c.faults, func(f fault) bool { return slices.Contains(operationBodies, f.reply.body) })
	if !wanted || len(c.params) == 0 {
		return nil
	}
	raw, err := c.in.service.Operation(c.ctx, c.params[0])
	if err != nil { // unknown
		return nil
	}
	return raw
}

// changeData runs the faults that change data when calls arrive.
func (c *call) changeData(f fault, a answer) error {
	switch f.kind {
	case "vanish":
		var page struct{ Items []struct{ Opid string } }
		if json.Unmarshal(a.body, &page) != nil {
			return nil
		}
		var gone []string
		for _, item := range page.Items[:min(f.number, len(page.Items))] {
			gone = append(gone, item.Opid)
		}
		return c.in.service.Remove(c.ctx, gone...)
	case "silent", "touch":
		return c.drift(f.number, f.kind == "silent")
	}
	return nil
}

// nextStatus is what an operation moves on to.
var nextStatus = map[string][]string{"PENDING": {"PROCESSING"},
	"PROCESSING": {"SUCCESS", "SUCCESS", "COMPLETED", "FAILED", "CANCELED"}, "SUCCESS": {"PENDING"},
	"COMPLETED": {"PENDING"}, "FAILED": {"PENDING"}, "CANCELED": {"PENDING"}}

// drift changes the status of count random operations; silently means without a webhook and with the old updatedAt.
func (c *call) drift(count int, silently bool) error {
	list, err := c.rows()
	if err != nil {
		return err
	}
	rand.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	for _, o := range list {
		next := nextStatus[o.Status]
		if count == 0 || len(next) == 0 {
			continue
		}
		count--
		err := c.in.service.Change(c.ctx, Change{Kind: "operation", ID: o.Opid, Status: next[rand.IntN(len(next))],
			Quiet: silently, Still: silently})
		if err != nil {
			return err
		}
	}
	return nil
}

// Step moves on the open operation that has been unchanged longest; without an open one, it opens an ended one again.
// The newest operation stays.
func (d Data) Step(ctx context.Context) error {
	return d.Alter(ctx, func(tx sandbox.Tx) error {
		list, err := tx.Operations(`WHERE o.n > 0 ORDER BY o.status NOT IN (1, 2), o.updated, o.n LIMIT 1`)
		if err != nil || len(list) == 0 {
			return err
		}
		found, err := rowsOf(list)
		if err != nil {
			return err
		}
		status := slices.Index(statuses["operation"], nextStatus[found[0].Status][0])
		return d.changeOperation(ctx, tx, Change{ID: found[0].Opid}, status, d.Now().UnixNano())
	})
}

// row is what matters here of an operation.
type row struct {
	Opid      string
	Status    string
	IsParent  bool
	CreatedAt time.Time
	UpdatedAt time.Time
	raw       json.RawMessage
}

// rows returns all operations, newest first.
func (c *call) rows() ([]row, error) {
	all, err := c.in.service.Operations(c.ctx)
	if err != nil {
		return nil, err
	}
	return rowsOf(all)
}

func rowsOf(all []json.RawMessage) ([]row, error) {
	list := make([]row, len(all))
	for i, raw := range all {
		if err := json.Unmarshal(raw, &list[i]); err != nil {
			return nil, err
		}
		list[i].raw = raw
	}
	return list, nil
}

// byPost reports whether the call reads a customer as customer-by-post has it. mu is held.
func (c *call) byPost() bool {
	return c.general.variants[variantPost] && c.r.Method == http.MethodPost &&
		strings.HasPrefix(c.r.URL.Path, "/v2/customer/") && strings.Count(c.r.URL.Path, "/") == 3
}

// varied passes the request on, in the variants that are on and with the pages and orders that faults ask for.
func (c *call) varied() answer {
	if c.general.lag > 0 && c.rt.Class != "login" && c.rt.Class != "refresh" && c.lagging() {
		a := errorAnswer(http.StatusUnauthorized, textBadAccess)
		a.refused = true
		return a
	}
	switch on := c.general.variants; {
	case on[variantPost] && c.rt.Name == "customer-get":
		if c.r.Method == http.MethodGet {
			return errorAnswer(http.StatusMethodNotAllowed, "Method not allowed")
		}
		r := c.r.Clone(c.r.Context())
		r.Method, r.Body = http.MethodGet, http.NoBody
		return c.pass(r)
	case on[variantHidden] && c.rt.Name == "application":
		a := errorAnswer(http.StatusNotFound, textUnconfigured)
		a.refused = true
		return a
	case on[variantApart] && (c.rt.Name == "share" || c.rt.Name == "finalize"):
		return c.apart()
	case on[variantWhole] && c.rt.Name == "tree":
		return c.wholeTree()
	}
	return c.page()
}

// wholeTree answers the tree of a child with that of its parent.
func (c *call) wholeTree() answer {
	own := c.pass(c.r)
	list, err := c.rows()
	if err != nil || own.status != http.StatusOK {
		return own
	}
	for _, o := range list {
		if !o.IsParent || o.Opid == c.param(0) {
			continue
		}
		r := c.r.Clone(c.r.Context())
		r.URL.Path = strings.Replace(r.URL.Path, c.param(0), o.Opid, 1)
		r.URL.RawPath = ""
		if tree := c.pass(r); strings.Contains(string(tree.body), c.param(0)) {
			return tree
		}
	}
	return own
}

const usualPageSize = 20

// page passes a request for a list on with the page size that faults allow, in the order that they ask for.
func (c *call) page() answer {
	query := c.r.URL.Query()
	asked, shown := usualPageSize, 0
	if n, err := strconv.Atoi(query.Get("meta.pageSize")); err == nil {
		asked = n
	}
	size := asked
	for _, f := range c.faults {
		switch f.kind {
		case "most":
			if asked > f.number {
				a := errorAnswer(http.StatusBadRequest, fmt.Sprintf("meta.pageSize must be between 1 and %d", f.number))
				a.refused = true
				return a
			}
		case "cap": // silently
			size, shown = min(size, f.number), asked
		case "fixed":
			size, shown = f.number, f.number
		}
	}
	if c.rt.Name == "list" && c.general.order != "" && c.general.order != "newest" {
		return c.ordered(query, size)
	}
	if size == asked {
		return c.pass(c.r)
	}
	query.Set("meta.pageSize", strconv.Itoa(size))
	return resized(c.pass(c.with(query)), size, shown)
}

// with is the request with another query.
func (c *call) with(query url.Values) *http.Request {
	r := c.r.Clone(c.r.Context())
	r.URL.RawQuery = query.Encode()
	return r
}

// resized shows another page size in the answer.
func resized(a answer, size, shown int) answer {
	was, is := fmt.Sprintf(`"pageSize":%d`, size), fmt.Sprintf(`"pageSize":%d`, shown)
	a.body = []byte(strings.Replace(string(a.body), was, is, 1))
	return a
}

// ordered answers with a page of the list in another order.
func (c *call) ordered(query url.Values, size int) answer {
	number, _ := strconv.Atoi(query.Get("meta.page")) // the service refuses another text below
	var all []json.RawMessage
	first := answer{}
	for n := 0; ; n++ {
		query.Set("meta.page", strconv.Itoa(n))
		query.Set("meta.pageSize", "1000")
		a := c.pass(c.with(query))
		if a.status != http.StatusOK {
			return a
		}
		if n == 0 {
			first = a
		}
		var v struct{ Items []json.RawMessage }
		if err := json.Unmarshal(a.body, &v); err != nil {
			return errorAnswer(http.StatusInternalServerError, err.Error())
		}
		if all = append(all, v.Items...); len(v.Items) < 1000 {
			break
		}
	}
	list, err := rowsOf(all)
	if err != nil {
		return errorAnswer(http.StatusInternalServerError, err.Error())
	}
	arrange(list, c.general.order)
	items := []json.RawMessage{}
	for _, o := range list[min(number*size, len(list)):min((number+1)*size, len(list))] {
		items = append(items, o.raw)
	}
	body := map[string]any{}
	if err := decode(first.body, &body); err != nil {
		return errorAnswer(http.StatusInternalServerError, err.Error())
	}
	if meta, ok := body["meta"].(map[string]any); ok {
		meta["page"], meta["pageSize"] = number, size
	}
	body["items"] = items
	first.body = encode(body)
	return first
}

// arrange puts rows, which are newest first, into an order.
func arrange(list []row, order string) {
	switch order {
	case "oldest":
		slices.Reverse(list)
	case "updated":
		slices.SortStableFunc(list, func(a, b row) int { return b.UpdatedAt.Compare(a.UpdatedAt) })
	case "updated-oldest":
		slices.SortStableFunc(list, func(a, b row) int { return a.UpdatedAt.Compare(b.UpdatedAt) })
	case "none":
		slices.SortStableFunc(list, func(a, b row) int { return int(mixed(a.Opid)) - int(mixed(b.Opid)) })
	case "unstable":
		rand.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	}
}

// mixed is a number that has nothing to do with time.
func mixed(text string) uint32 {
	h := fnv.New32a()
	h.Write([]byte(text))
	return h.Sum32()
}
