package sandbox

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	defaultPageSize = 20
	maxPageSize     = 1000 // the service's documents name no limit; the client can be configured to request this many
)

// page is the window of a list: page from 0.
type page struct{ number, size int }

func (c *call) page() (page, error) {
	p := page{size: defaultPageSize}
	for name, at := range map[string]*int{"meta.page": &p.number, "meta.pageSize": &p.size} {
		text := c.r.URL.Query().Get(name)
		if text == "" {
			continue
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			return p, refuse(http.StatusBadRequest, name+" must be a whole number from 0")
		}
		*at = n
	}
	if p.size < 1 || p.size > maxPageSize {
		return p, refuse(http.StatusBadRequest, "meta.pageSize must be between 1 and "+strconv.Itoa(maxPageSize))
	}
	return p, nil
}

func (p page) body(total int64, items any) object {
	return object{"meta", object{"pageSize", p.size, "page", p.number, "total", strconv.FormatInt(total, 10)},
		"items", items}
}

// listPage answers with the requested page of the rows of from that match w, in
// this order.
func listPage[T any](c *call, from string, w *where, order string,
	fetch func(ctx context.Context, q querier, tail string, args ...any) ([]T, error), render func(*T) any) (any, error) {
	p, err := c.page()
	if err != nil {
		return nil, err
	}
	total, err := count(c.ctx, c.ro, `SELECT count(*)`+from+w.String(), w.args...)
	if err != nil {
		return nil, err
	}
	rows, err := fetch(c.ctx, c.ro, w.String()+` ORDER BY `+order+` LIMIT ? OFFSET ?`,
		append(w.args, p.size, p.offset())...)
	items := make([]any, len(rows))
	for i := range rows {
		items[i] = render(&rows[i])
	}
	return p.body(total, items), err
}

func (p page) offset() int { return p.number * p.size }

// where collects conditions of a query.
type where struct {
	terms []string
	args  []any
}

func (w *where) add(term string, args ...any) {
	w.terms = append(w.terms, term)
	w.args = append(w.args, args...)
}

func (w *where) String() string {
	if len(w.terms) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(w.terms, " AND ")
}

// contains adds a case-insensitive partial match (ASCII case only, as SQLite has it).
func (w *where) contains(column, part string) {
	if part == "" {
		return
	}
	escaped := strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(part)
	w.add(column+` LIKE ? ESCAPE '\'`, "%"+escaped+"%")
}

// equal adds column = value unless value is empty.
func (w *where) equal(column, value string) {
	if value != "" {
		w.add(column+" = ?", value)
	}
}

// code adds column = the code of the name; an unknown name matches nothing.
func (w *where) code(column string, names []string, name string) {
	if name != "" {
		w.add(column+" = ?", codeOf(names, name))
	}
}

// between adds the bounds of a time column from two ISO 8601 parameters.
func (w *where) between(c *call, column, from, to string) error {
	for _, b := range []struct{ name, op string }{{from, ">="}, {to, "<="}} {
		text := c.r.URL.Query().Get(b.name)
		if text == "" {
			continue
		}
		at, err := parseTime(text)
		if err != nil {
			return refuse(http.StatusBadRequest, b.name+" must be an ISO 8601 time")
		}
		w.add(column+" "+b.op+" ?", at.UnixNano())
	}
	return nil
}

func parseTime(text string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		t, err = time.Parse(time.DateOnly, text)
	}
	return t, err
}

func count(ctx context.Context, q querier, query string, args ...any) (n int64, err error) {
	return n, q.QueryRowContext(ctx, query, args...).Scan(&n)
}
