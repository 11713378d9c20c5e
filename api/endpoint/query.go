package endpoint

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"opdeck/api"
)

// queryValues alternates names and values; pairs with an empty value are omitted.
type queryValues []string

// paged returns the query parameters of a list: its filters and the paging.
func paged(filters ...Query) []Query {
	return append(filters, Query{Name: api.PageName}, Query{Name: api.SizeName})
}

// asked returns query parameters that need no permission.
func asked(names ...string) (out []Query) {
	for _, n := range names {
		out = append(out, Query{Name: n})
	}
	return out
}

// page builds the query for a page from 0 (size 0: as configured) with filters.
func page(s api.Service, page, size int, filters ...string) queryValues {
	return append(queryValues{api.PageName, strconv.Itoa(page), api.SizeName, strconv.Itoa(cmp.Or(size, s.PageSize))},
		filters...)
}

// values builds a query of declared names.
func (r *Route) values(pairs queryValues) url.Values {
	v := url.Values{}
	for pair := range slices.Chunk(pairs, 2) {
		if !slices.ContainsFunc(r.Query, func(q Query) bool { return q.Name == pair[0] }) {
			panic(fmt.Sprintf("endpoint: %s does not declare the query name %q", r.Kind, pair[0]))
		}
		if pair[1] != "" {
			v.Set(pair[0], pair[1])
		}
	}
	return v
}

// Asks returns a refusal if the query has a name that is neither declared nor, on a list, one of p, or that the
// person in ctx may not use.
func (r *Route) Asks(ctx context.Context, v url.Values, p api.Paging) *api.Error {
	for name := range v {
		i := slices.IndexFunc(r.Query, func(q Query) bool { return q.Name == name })
		if i < 0 && r.isPaged() && slices.Contains(p.Names(), name) {
			continue
		}
		if i < 0 {
			return &api.Error{Op: r.Op, Kind: api.Refused, Unsent: true, Field: name,
				Public: "This call does not take the query parameter " + safe(name) + ". " + r.takes()}
		}
		if role := api.ActorOf(ctx).Role; r.Query[i].Need != "" && !role.May(r.Query[i].Need) {
			e := api.LacksPermission(r.Op, role, r.Query[i].Need)
			e.Unsent, e.Field = true, name
			return e
		}
	}
	return nil
}

func (r *Route) isPaged() bool {
	return slices.ContainsFunc(r.Query, func(q Query) bool { return q.Name == api.PageName })
}

func (r *Route) takes() string {
	var names []string
	for _, q := range r.Query {
		names = append(names, q.Name)
	}
	if len(names) == 0 {
		return "It takes none."
	}
	return "It takes " + strings.Join(names, ", ") + "."
}
