package index

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cockroachdb/apd/v3"

	"opdeck/api"
	"opdeck/api/redact"
	"opdeck/api/untrusted"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/field"
	"opdeck/internal/format"
	"opdeck/internal/format/csvcell"
)

// Group is the operations that share a value, with their subdivision. The outermost group is all matching operations.
type Group struct {
	Key   untrusted.Text // code, currency, identifier, 2026-01-31 or 2026-01; a week is its Monday; empty: none
	Name  untrusted.Text // of a customer or counterparty
	Count int64
	Sums  []Sum   // by currency, the one with most operations first
	Parts []Group // by the next grouping: the one with most operations first, times newest first
	More  int     // omitted parts
}

// Sum returns the sum in a currency, nil when there is none.
func (g Group) Sum(currency untrusted.Text) *Sum {
	if i := slices.IndexFunc(g.Sums, func(s Sum) bool { return s.Currency == currency }); i >= 0 {
		return &g.Sums[i]
	}
	return nil
}

// Bad counts the operations whose amounts are in no sum.
func (g Group) Bad() (n int64) {
	for _, s := range g.Sums {
		n += s.Bad
	}
	return n
}

// Label is the group's value for display, "?" if it is not known.
func (g Group) Label() string {
	switch {
	case g.Name != "":
		return g.Name.Line(60)
	case g.Key != "":
		return g.Key.Line(60)
	}
	return "?"
}

// By is a grouping.
type By string

// The groupings.
const (
	ByStatus       By = "status"
	ByType         By = "type"
	ByPayment      By = "payment"
	ByCurrency     By = "currency"
	ByCustomer     By = "customer"
	ByCounterparty By = "counterparty" // the receiving side
	ByDay          By = "day"          // of creation, UTC
	ByWeek         By = "week"         // from Monday
	ByMonth        By = "month"
)

// Groupings lists them all.
func Groupings() []By {
	return []By{ByStatus, ByType, ByCustomer, ByCounterparty, ByPayment, ByDay, ByWeek, ByMonth, ByCurrency}
}

// ErrBy: an unknown grouping, or more than two.
var ErrBy = errors.New("index: rows are grouped by one or two of the groupings")

// CheckBy returns ErrBy for groupings that Totals does not support.
func CheckBy(by []By) error {
	if len(by) > 2 || len(by) == 2 && by[0] == by[1] {
		return ErrBy
	}
	for _, b := range by {
		if !slices.Contains(Groupings(), b) {
			return ErrBy
		}
	}
	return nil
}

// Term is the filter that matches the group; "" if there is none, for a missing or masked value.
func (b By) Term(g Group) string {
	text := string(g.Key)
	field, op := string(b), ":"
	switch b {
	case ByCustomer, ByCounterparty:
		op = "="
		if b == ByCounterparty {
			field = "destination"
		}
		if text == "" || b == ByCounterparty {
			text = string(g.Name)
		}
	case ByDay, ByMonth:
		field = "created"
	case ByWeek:
		monday, err := time.Parse(time.DateOnly, text)
		if err != nil {
			return ""
		}
		field, text = "created", text+".."+monday.AddDate(0, 0, 6).Format(time.DateOnly)
	}
	if text == "" || strings.Contains(text, redact.Dot) {
		return ""
	}
	if !b.time() {
		text = filter.Quoted(text)
	}
	e, err := filter.Parse(field + op + text)
	if err != nil {
		return ""
	}
	return e.String()
}

func (b By) time() bool { return b == ByDay || b == ByWeek || b == ByMonth }

// NewestFirst reports whether the groups are sorted by time.
func (b By) NewestFirst() bool { return b.time() }

// Day is the count of one day or one hour.
type Day struct {
	Date  time.Time // its start, UTC
	Count int64
}

// Timeline counts operations by creation: days with any, oldest first, and their hours if the days are few.
type Timeline struct {
	Days, Hours []Day
	Undated     int64 // operations without a time of creation
}

// ShortSpan is the number of days up to which a Timeline has hours.
const ShortSpan = 8

// Chart is a timeline in bars of one unit, without gaps, oldest first.
type Chart struct {
	Unit        string
	Bars        []Day
	First, Last time.Time // days of the first and the last operation
}

// unit is the length of a bar.
type unit struct {
	name  string
	start func(time.Time) time.Time
	next  func(time.Time) time.Time
}

func units() []unit {
	months := func(name string, n int) unit {
		return unit{name, func(t time.Time) time.Time {
			m := t.Year()*12 + int(t.Month()) - 1
			return time.Date(0, time.Month(m-m%n+1), 1, 0, 0, 0, 0, time.UTC)
		}, func(t time.Time) time.Time { return t.AddDate(0, n, 0) }}
	}
	day := func(t time.Time) time.Time { return t.Truncate(24 * time.Hour) }
	return []unit{
		{"hour", func(t time.Time) time.Time { return t.Truncate(time.Hour) },
			func(t time.Time) time.Time { return t.Add(time.Hour) }},
		{"day", day, func(t time.Time) time.Time { return t.AddDate(0, 0, 1) }},
		{"week", Monday, func(t time.Time) time.Time { return t.AddDate(0, 0, 7) }},
		months("month", 1), months("quarter", 3), months("year", 12), months("ten years", 120), months("century", 1200),
	}
}

// Monday is the start of t's week.
func Monday(t time.Time) time.Time {
	t = t.UTC().Truncate(24 * time.Hour)
	return t.AddDate(0, 0, -(int(t.Weekday())+6)%7)
}

// Chart returns at most most bars of the shortest unit that fits; without bars nothing has a known time.
func (t Timeline) Chart(most int) Chart {
	if len(t.Days) == 0 {
		return Chart{}
	}
	c := Chart{First: t.Days[0].Date, Last: t.Days[len(t.Days)-1].Date}
	all := units()
	if len(t.Hours) == 0 {
		all = all[1:]
	}
	for i, u := range all {
		from := t.Days
		if u.name == "hour" {
			from = t.Hours
		}
		bars, ok := u.bars(from, max(most, 1))
		if ok || i == len(all)-1 {
			c.Unit, c.Bars = u.name, bars
			break
		}
	}
	return c
}

// bars sums by unit; false if there are more than most.
func (u unit) bars(from []Day, most int) ([]Day, bool) {
	last := u.start(from[len(from)-1].Date)
	var out []Day
	for at := u.start(from[0].Date); !at.After(last); at = u.next(at) {
		if len(out) == most {
			return out, false
		}
		out = append(out, Day{Date: at})
	}
	i := 0
	for _, d := range from {
		for s := u.start(d.Date); out[i].Date.Before(s); i++ {
		}
		out[i].Count += d.Count
	}
	return out, true
}

// GroupValue is the value that a group of operations shares.
type GroupValue struct {
	By    By      `json:"by"`
	Value *string `json:"value"`          // code, currency, identifier or date; empty: it has none; null: not known
	Name  string  `json:"name,omitempty"` // of a customer or counterparty
}

// TotalsLine is one exact sum: of a group in a currency.
type TotalsLine struct {
	Groups     []GroupValue `json:"groups"`
	Currency   *string      `json:"currency"` // null: not known
	Operations int64        `json:"operations"`
	Unusable   int64        `json:"unusable"` // operations without a numeric amount, not in the sum
	Sum        *string      `json:"sum"`      // exact decimal; null: no amount is known

	amount *apd.Decimal
}

// TotalsOrder is an order of groups. The zero value keeps the order of Totals.
type TotalsOrder struct {
	Sort                    // by TotalsGroup, TotalsOperations or TotalsSum
	Currency untrusted.Text // of TotalsSum; a group without sums in it comes last
}

// The fields of an order of groups; lines of totals are sorted by the columns of TotalsHead.
const (
	TotalsGroup      = "group"
	TotalsOperations = "operations"
	TotalsSum        = "sum"
)

// Arrange sorts the parts of a group by these groupings, and theirs, and keeps at most limit of each (0: all).
// Currencies are not ranked by their sums, but the parts of each are.
func (g *Group) Arrange(by []By, o TotalsOrder, limit int) {
	if len(by) == 0 {
		return
	}
	currencies := by[0] == ByCurrency && o.Field == TotalsSum
	if o.Field != "" && !currencies {
		slices.SortStableFunc(g.Parts, o.compare)
	}
	if over := len(g.Parts) - limit; limit > 0 && over > 0 {
		g.Parts, g.More = g.Parts[:limit], g.More+over
	}
	for i := range g.Parts {
		part := &g.Parts[i]
		if currencies {
			o.Currency = part.Key
		}
		part.Arrange(by[1:], o, limit)
	}
}

func (o TotalsOrder) compare(a, b Group) int {
	switch o.Field {
	case TotalsOperations:
		return o.directed(cmp.Compare(a.Count, b.Count))
	case TotalsSum:
		x, y := a.Sum(o.Currency), b.Sum(o.Currency)
		return o.sums(x.decimal(), y.decimal())
	}
	return o.texts(cmp.Or(a.Name, a.Key), cmp.Or(b.Name, b.Key))
}

// decimal is the amount; nil if there is none.
func (s *Sum) decimal() *apd.Decimal {
	if s == nil {
		return nil
	}
	return s.Amount
}

// sums compares sums; one that is not known is last.
func (s Sort) sums(a, b *apd.Decimal) int {
	if a == nil || b == nil {
		return valuesFirst(a != nil, b != nil)
	}
	return s.directed(a.Cmp(b))
}

func (s Sort) directed(c int) int {
	if s.Desc {
		return -c
	}
	return c
}

// texts compares values without regard to case; an empty one is last.
func (s Sort) texts(a, b untrusted.Text) int {
	if a == "" || b == "" {
		return valuesFirst(a != "", b != "")
	}
	return s.directed(strings.Compare(strings.ToLower(string(a)), strings.ToLower(string(b))))
}

// valuesFirst compares records of which one has no value.
func valuesFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// ParseTotalsSort parses COLUMN or -COLUMN (descending) of TotalsHead; empty is the order of Totals. The error wraps
// ErrSort.
func ParseTotalsSort(text string, by []By) (Sort, error) {
	name, desc := strings.CutPrefix(text, "-")
	if text != "" && !slices.Contains(TotalsHead(by), name) {
		return Sort{}, ErrSort
	}
	return Sort{Field: name, Desc: desc}, nil
}

// Lines returns the sums of the innermost groups; by are the groupings. Sums are ranked within their currency, the one
// with most operations first.
func (g Group) Lines(by []By, order Sort) []TotalsLine {
	out := g.lines(by, []GroupValue{})
	column := slices.Index(TotalsHead(by), order.Field)
	if column < 0 {
		return out
	}
	currency := func(l TotalsLine) int {
		return slices.IndexFunc(g.Sums, func(s Sum) bool { return string(s.Currency) == orEmpty(l.Currency) })
	}
	slices.SortStableFunc(out, func(a, b TotalsLine) int {
		switch order.Field {
		case TotalsOperations:
			return order.directed(cmp.Compare(a.Operations, b.Operations))
		case "unusable":
			return order.directed(cmp.Compare(a.Unusable, b.Unusable))
		case TotalsSum:
			return cmp.Or(cmp.Compare(currency(a), currency(b)), order.sums(a.amount, b.amount))
		}
		return order.texts(untrusted.Text(orEmpty(a.names()[column])), untrusted.Text(orEmpty(b.names()[column])))
	})
	return out
}

func (g Group) lines(by []By, within []GroupValue) []TotalsLine {
	var out []TotalsLine
	if len(by) == 0 {
		for _, s := range g.Sums {
			line := TotalsLine{Groups: within, Currency: orNull(string(s.Currency)), Operations: s.Count, Unusable: s.Bad}
			if line.amount = s.Amount; s.Amount != nil {
				line.Sum = orNull(s.Amount.Text('f'))
			}
			out = append(out, line)
		}
		return out
	}
	for _, part := range g.Parts {
		group := GroupValue{by[0], orNull(string(part.Key)), string(part.Name)}
		if by[0] == ByCounterparty && part.Name != "" { // grouped by name: it has no identifier that could be told
			group.Value = new(string)
		}
		out = append(out, part.lines(by[1:], append(slices.Clip(within), group))...)
	}
	return out
}

// orNull is a text for JSON, null if it is empty: not known.
func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// orEmpty is the inverse of orNull.
func orEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// TotalsHead returns the columns of a table of totals.
func TotalsHead(by []By) []string {
	var out []string
	for _, b := range by {
		if out = append(out, string(b)); b == ByCustomer || b == ByCounterparty {
			out = append(out, string(b)+"_name")
		}
	}
	if !slices.Contains(by, ByCurrency) {
		out = append(out, "currency")
	}
	return append(out, TotalsOperations, "unusable", TotalsSum)
}

// Cells returns the line as people read it, in the columns of TotalsHead; the last three are numbers.
func (l TotalsLine) Cells() []string {
	digits, _ := format.Digits(orEmpty(l.Currency))
	return append(l.shown(), format.Count(int(l.Operations)), format.Count(int(l.Unusable)),
		format.Number(l.amount, digits))
}

// Row returns the line for a spreadsheet, in the columns of TotalsHead.
func (l TotalsLine) Row() []csvcell.Cell {
	var out []csvcell.Cell
	for _, name := range l.shown() {
		out = append(out, csvcell.Text(name))
	}
	return append(out, csvcell.Number(strconv.FormatInt(l.Operations, 10)),
		csvcell.Number(strconv.FormatInt(l.Unusable, 10)), csvcell.Amount(l.amount, orEmpty(l.Currency)))
}

// shown are the names as people read them, "?" for one that is not known.
func (l TotalsLine) shown() []string {
	var out []string
	for _, name := range l.names() {
		if name == nil {
			out = append(out, "?")
		} else {
			out = append(out, *name)
		}
	}
	return out
}

// names are the values of the groups and the currency, nil if not known.
func (l TotalsLine) names() []*string {
	var out []*string
	named := false
	for _, g := range l.Groups {
		if out = append(out, g.Value); g.By == ByCustomer || g.By == ByCounterparty {
			out = append(out, orNull(g.Name))
		}
		named = named || g.By == ByCurrency
	}
	if !named {
		out = append(out, l.Currency)
	}
	return out
}

// exportTotals writes the totals of a sheet.
func (x *Index) exportTotals(ctx context.Context, w io.Writer, s Sheet) (int, error) {
	all, err := x.Totals(ctx, s.Filter, s.By, 0, x.now())
	if err != nil {
		return 0, err
	}
	lines := all.Lines(s.By, s.Sort)
	switch s.Format {
	case JSONL:
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		for _, l := range lines {
			if err := enc.Encode(l); err != nil {
				return 0, err
			}
		}
		_, err := io.WriteString(w, untrusted.JSON(b.String()))
		return len(lines), err
	case CSV:
		out, err := csvcell.New(w, !s.NoMark, TotalsHead(s.By))
		if err != nil {
			return 0, err
		}
		for _, l := range lines {
			if err := out.Row(l.Row()); err != nil {
				return 0, err
			}
		}
		return len(lines), out.Flush()
	}
	return 0, ErrFormat
}

// Format is a file format.
type Format string

// The formats.
const (
	CSV   Format = "csv"
	JSONL Format = "jsonl" // one record a line, as received
)

// ErrFormat: unknown format.
var ErrFormat = errors.New("index: an export is csv or jsonl")

// FormatOf is the format that the name of a file asks for.
func FormatOf(name string) (Format, bool) {
	f := Format(strings.ToLower(strings.TrimPrefix(filepath.Ext(name), ".")))
	return f, f == CSV || f == JSONL
}

// progressEvery is the number of rows between progress reports.
const progressEvery = 500

// Export writes a sheet from a list that is frozen at the start. It calls progress now and then and at the end. When
// ctx ends, it stops with ctx's error after a complete row. It returns the number of rows.
func (x *Index) Export(ctx context.Context, w io.Writer, s Sheet, progress func(done, total int)) (int, error) {
	if s.Totals {
		return x.exportTotals(ctx, w, s)
	}
	out, err := newExporter(w, s)
	if err != nil {
		return 0, err
	}
	if progress == nil {
		progress = func(int, int) {}
	}
	done, all := 0, 0
	err = x.Each(ctx, s.Filter, s.Sort, x.now(), func(total int, r Record) error {
		if err := out.row(r.Op); err != nil {
			return err
		}
		done, all = done+1, total
		if done%progressEvery == 0 {
			progress(done, total)
		}
		return ctx.Err()
	})
	if e := out.flush(); err == nil {
		err = e
	}
	progress(done, all)
	return done, err
}

type exporter struct {
	buf *bufio.Writer
	csv *csvcell.Writer // nil: JSON lines
}

var csvColumns = field.Operations.Sheet()

func newExporter(w io.Writer, s Sheet) (*exporter, error) {
	e := &exporter{buf: bufio.NewWriterSize(w, 1<<16)}
	switch s.Format {
	case JSONL:
		return e, nil
	case CSV:
		head := make([]string, len(csvColumns))
		for i, c := range csvColumns {
			head[i] = c.Head
		}
		out, err := csvcell.New(e.buf, !s.NoMark, head)
		e.csv = &out
		return e, err
	}
	return nil, ErrFormat
}

func (e *exporter) row(o api.Operation) error {
	if e.csv != nil {
		row := make([]csvcell.Cell, len(csvColumns))
		for i, c := range csvColumns {
			row[i] = c.Cell(o)
		}
		return e.csv.Row(row)
	}
	b, err := o.MarshalJSON()
	if err != nil {
		return fmt.Errorf("index: %w", err)
	}
	_, err = e.buf.WriteString(untrusted.JSON(oneLine(b)) + "\n")
	return err
}

// oneLine replaces line ends in JSON, which can only be white space, by spaces.
func oneLine(b []byte) string { return strings.NewReplacer("\r", " ", "\n", " ").Replace(string(b)) }

func (e *exporter) flush() error {
	if e.csv != nil {
		if err := e.csv.Flush(); err != nil {
			return err
		}
	}
	return e.buf.Flush()
}
