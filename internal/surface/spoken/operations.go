package spoken

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"opdeck/api"
	"opdeck/internal/app/config"
	"opdeck/internal/domain/index"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/domain/narrow"
	"opdeck/ui/plain"
)

const pageRows = 10 // operations that are said at a time

// listing is the list of operations as it was asked for last.
type listing struct {
	query filter.OperationExpr
	sort  index.Sort
	from  int // rows before the page
	total int
	rows  []index.Record
	fresh index.Freshness // of rows and total
}

// operations is the list, by pages of the local index.
func (c *console) operations(ctx context.Context) error {
	if c.list.sort.Field == "" {
		c.list.sort = index.Sort{Field: "created", Desc: true}
	}
	return c.talk.Menu(ctx, plain.Menu{Name: "Operations", Numbers: "opens the operation of that number", Intro: c.page, Pick: c.pickOperation,
		Commands: []plain.Command{
			{Name: "next", Alias: []string{"n"}, Help: "says the next page.", Do: c.turn(func(l *listing) int { return l.from + pageRows })},
			{Name: "previous", Alias: []string{"p"}, Help: "says the page before.", Do: c.turn(func(l *listing) int { return l.from - pageRows })},
			{Name: "first", Help: "says the first page.", Do: c.turn(func(*listing) int { return 0 })},
			{Name: "last", Help: "says the last page.", Do: c.turn(func(l *listing) int { return (l.total - 1) / pageRows * pageRows })},
			{Name: "filter", Args: "[EXPRESSION]", Help: "shows only what matches, for example: filter status:PENDING amount>=1000. filter off shows everything. filter help explains the language.", Do: c.filter},
			{Name: "sort", Args: "[FIELD]", Help: "sorts by a field; the same field again turns the order round.", Do: c.sort},
			{Name: "views", Alias: []string{"view"}, Args: "[NAME]", Help: "says or takes the saved views of the config file.", Do: c.views},
			{Name: "totals", Help: "adds up what is shown, by currency.", Do: c.totals},
			{Name: "group", Args: "[FIELD]", Help: "counts what is shown by status, type, payment, currency, customer or day.", Do: c.group},
			{Name: "id", Args: "NUMBER", Help: "says the id of an operation on this page.", Do: c.sayID},
			{Name: "documents", Args: "NUMBER", Help: "opens the documents of an operation on this page.", Do: c.documentsOfRow},
			{Name: "live", Alias: []string{"reload"}, Help: "reads the newest page from the service, of the customer or account that the filter names; costs one billing call, two where that is not clear.", Do: c.live},
			{Name: "export", Args: "FILE", Help: "writes what is shown to a new file of this host, ending in .csv or .jsonl.",
				Why: func() string { return cmp.Or(c.mayNotRead(api.MayExport), c.noFiles()) }, Do: c.export},
		}})
}

// mayNotRead is mayNot for what a read-only context allows.
func (c *console) mayNotRead(p api.Permission) string {
	if c.who.Role.May(p) {
		return ""
	}
	return c.mayNot(p)
}

func (c *console) turn(to func(*listing) int) func(context.Context, string) error {
	return func(ctx context.Context, _ string) error {
		l := &c.list
		at := to(l)
		switch {
		case at >= l.total && at > 0:
			c.talk.Say("There is no further page.")
			return nil
		case at < 0 && l.from == 0:
			c.talk.Say("This is the first page.")
			return nil
		}
		l.from = max(at, 0)
		return c.page(ctx)
	}
}

// page reads and says the page; the index answers without a call.
func (c *console) page(ctx context.Context) error {
	l, now := &c.list, c.app.Now()
	a, err := c.app.Index.Answer(ctx, index.Query{Filter: l.query, Sort: l.sort, Skip: l.from, After: pageRows}, now)
	if err == nil && l.from > 0 && l.from >= int(a.Total) {
		l.from = 0
		a, err = c.app.Index.Answer(ctx, index.Query{Filter: l.query, Sort: l.sort, After: pageRows}, now)
	}
	if err != nil {
		return c.failed(ctx, "The list", err)
	}
	l.rows, l.total, l.fresh = a.Window.Rows, int(a.Total), a.Fresh
	c.talk.Say(c.head())
	for i, r := range l.rows {
		c.talk.Say(numbered(l.from+i+1, c.row(r.Op)))
	}
	switch {
	case l.total == 0 && l.query.Empty():
		c.talk.Say("live reads the newest operations from the service.")
	case l.total == 0:
		c.talk.Say("filter off shows everything.")
	case l.from+len(l.rows) < l.total:
		c.talk.Say("next says more.")
	}
	return nil
}

func (c *console) head() string {
	l := &c.list
	s := "No operation is known yet"
	if l.total > 0 {
		s = "Operations " + count(l.from+1) + " to " + count(l.from+len(l.rows)) + " of " + count(l.total)
	} else if !l.query.Empty() {
		s = "No operation matches"
	}
	if !l.query.Empty() {
		s += ", filter " + l.query.String()
	}
	s += ", sorted by " + order(l.sort) + "."
	return s + " From the index. " + c.age(l.fresh)
}

// age says how old what the index answers is, and what it lacks.
func (c *console) age(f index.Freshness) string {
	now := c.app.Now()
	newest, oldest := plain.Ago(f.Newest, now), plain.Ago(f.AsOf, now)
	var s string
	switch {
	case f.Rows == 0 && f.AsOf.IsZero():
		s = "The list was not read from the service yet."
	case f.AsOf.IsZero():
		s = "Not all of it was seen at the service."
	case f.Rows == 0 || newest == oldest:
		s = "Read from the service " + oldest + "."
	default:
		s = "The newest row was seen at the service " + newest + ", the oldest " + oldest + "."
	}
	switch {
	case !c.app.Config.Index.Enabled:
		s += " The index is switched off: it holds what was read here."
	case f.Complete:
	case f.Rows < f.Total:
		s += " " + count(int(f.Rows)) + " of " + count(int(f.Total)) + " operations are read so far."
	default:
		s += " Not all operations are read yet."
	}
	return s
}

func order(s index.Sort) string {
	if s.Desc {
		return s.Field + ", newest or largest first"
	}
	return s.Field + ", oldest or smallest first"
}

// row is one operation in a sentence.
func (c *console) row(o api.Operation) string {
	parts := []string{strings.Join([]string{o.Status.Line(40), o.Type.Line(40), o.PaymentType.Line(40)}, " "), money(o.SourceAmount.Sum)}
	if o.Customer.Name != "" {
		parts = append(parts, "customer "+safe(o.Customer.Name, 120))
	}
	if to := o.Destination.Name(); to != "" {
		parts = append(parts, "to "+safe(to, 120))
	}
	if !o.CreatedAt.IsZero() {
		parts = append(parts, "created "+o.CreatedAt.In(c.zone).Format("2 January 2006 15:04"))
	}
	parts = append(parts, documentsLine(o))
	if o.Comment.Flags().Suspicious() || o.Reference.Flags().Suspicious() {
		parts = append(parts, "with odd text")
	}
	if o.IsParent {
		parts = append(parts, "has children")
	}
	if !o.IsVisible {
		parts = append(parts, "hidden from the customer")
	}
	return strings.Join(parts, ", ") + "."
}

func documentsLine(o api.Operation) string {
	locked := 0
	for _, d := range o.Documents {
		if d.IsLock {
			locked++
		}
	}
	s := plural(len(o.Documents), "document", "documents")
	if len(o.Documents) == 0 {
		s = "no documents"
	}
	if locked > 0 {
		s += ", " + count(locked) + " locked"
	}
	return s
}

// rowOf finds the operation of a number on the page; ok is false after saying why not.
func (c *console) rowOf(typed string) (api.Operation, bool) {
	l := &c.list
	n, err := strconv.Atoi(strings.TrimSuffix(typed, "."))
	if err != nil || n <= l.from || n > l.from+len(l.rows) {
		switch {
		case len(l.rows) == 0:
			c.talk.Say("There is no operation on this page.")
		default:
			c.talk.Say("Give a number of this page: " + count(l.from+1) + " to " + count(l.from+len(l.rows)) + ".")
		}
		return api.Operation{}, false
	}
	return l.rows[n-1-l.from].Op, true
}

func (c *console) pickOperation(ctx context.Context, n int) error {
	if o, ok := c.rowOf(strconv.Itoa(n)); ok {
		return c.operation(ctx, string(o.OPID))
	}
	return nil
}

func (c *console) sayID(_ context.Context, arg string) error {
	if o, ok := c.rowOf(arg); ok {
		c.talk.Say("The id is " + o.OPID.Line(128))
	}
	return nil
}

func (c *console) documentsOfRow(ctx context.Context, arg string) error {
	if o, ok := c.rowOf(arg); ok {
		return c.documents(ctx, string(o.OPID))
	}
	return nil
}

func (c *console) filter(ctx context.Context, arg string) error {
	if arg == "" {
		var err error
		arg, err = c.talk.Ask(ctx, plain.Field{Label: "Filter", Help: "For example status:PENDING or customer:acme amount>=1000. off shows everything."})
		if err != nil {
			return err
		}
	}
	switch strings.ToLower(arg) {
	case "help":
		c.filterHelp()
		return nil
	case "off":
		arg = ""
	}
	q, err := filter.Parse(arg)
	if err != nil {
		c.talk.Say("The filter was not understood. "+sentence(err.Error()), "The list stays as it was. filter help explains the language.")
		return nil
	}
	c.list.query, c.list.from = q, 0
	return c.page(ctx)
}

func (c *console) filterHelp() {
	c.talk.Say("A filter is field, colon, value. Terms beside each other must all hold, OR between them asks for one, a minus before a term turns it round.",
		"Amounts, times and numbers also take less than, greater than and ranges: amount>=1000.50, created:2026-01..2026-03.",
		"A word without a field is looked for in every text. The fields follow.")
	for _, r := range filter.Operations().Rows() {
		c.talk.Say(r.Name + ": " + r.Help + ". For example " + r.Example + ".")
	}
}

func (c *console) sort(ctx context.Context, arg string) error {
	if arg == "" {
		c.talk.Say("Sorted by "+order(c.list.sort)+".", "Fields: "+plain.List(index.SortFields)+". sort and a field sorts by it.")
		return nil
	}
	s, err := index.ParseSort(strings.ToLower(arg))
	if err != nil {
		c.talk.Say("Operations cannot be sorted by that. Fields: " + plain.List(index.SortFields) + ".")
		return nil
	}
	switch {
	case s.Field == c.list.sort.Field:
		s.Desc = !c.list.sort.Desc
	case !strings.HasPrefix(arg, "-"):
		s = index.UsualSort(s.Field)
	}
	c.list.sort, c.list.from = s, 0
	return c.page(ctx)
}

func (c *console) views(ctx context.Context, arg string) error {
	names := slices.Sorted(maps.Keys(c.app.Config.Views))
	if v, ok := c.app.Config.Views[arg]; ok && arg != "" {
		return c.useView(ctx, arg, v)
	}
	if arg != "" {
		c.talk.Say("There is no view of that name.")
	}
	if len(names) == 0 {
		c.talk.Say("There are no saved views. They stand under views in the config file.")
		return nil
	}
	for _, name := range names {
		v := c.app.Config.Views[name]
		s := name + ": " + v.Filter
		if q, err := filter.Parse(v.Filter); err != nil {
			s += ". Its filter has a mistake: " + err.Error()
		} else if n, err := c.app.Index.Count(ctx, q, c.app.Now()); err == nil {
			s += ", " + plural(int(n), "operation", "operations")
		}
		c.talk.Say(sentence(s))
	}
	c.talk.Say("view and a name takes it.")
	return nil
}

func (c *console) useView(ctx context.Context, name string, v config.View) error {
	q, err := filter.Parse(v.Filter)
	if err != nil {
		c.talk.Say("The filter of this view has a mistake. "+sentence(err.Error()), "Mend it under views in the config file.")
		return nil
	}
	s, err := index.ParseSort(v.Sort)
	if err != nil {
		c.talk.Say("This view sorts by a field that there is not. Mend it under views in the config file.")
		return nil
	}
	c.talk.Say("View " + name + ".")
	c.list = listing{query: q, sort: s}
	return c.page(ctx)
}

// live reads the newest page from the service: one billing call.
func (c *console) live(ctx context.Context, _ string) error {
	var ans narrow.Answer
	err := c.talk.Work(ctx, "reading operations from the service", func(ctx context.Context) (err error) {
		if ans, err = narrow.Ask(ctx, c.app.Client, c.list.query, 0, 0, c.app.Now()); err == nil && ans.Asked == "" {
			_, err = c.app.Client.Operations(ctx, api.OperationQuery{})
		}
		return err
	})
	if err != nil {
		return c.failed(ctx, "The list", err)
	}
	if ans.Asked != "" {
		c.talk.Say(ans.Said())
	}
	c.list.from = 0
	return c.page(ctx)
}
