package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/api/evidence"
	"opdeck/api/untrusted"
	"opdeck/internal/app"
	"opdeck/internal/domain/index"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/domain/mask"
	"opdeck/internal/domain/note"
	"opdeck/internal/domain/servicefilter"
	"opdeck/internal/format"
	"opdeck/internal/present"
	"opdeck/internal/system/folder"
)

// pagesAtOnce bounds the pages that a command reads to freshen the index.
const pagesAtOnce = 6

// choice holds the flags of list and export.
type choice struct {
	filter, sort, view string
	limit, page        int
	live, cached       bool
}

func (c *choice) flags(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().StringVar(&c.filter, "filter", "",
		`for example 'status:PENDING amount>=1000 currency:EUR created>2026-01-01 -has:locked "text"'`)
	cmd.Flags().StringVar(&c.sort, "sort", "", strings.Join(index.SortFields, ", ")+
		"; - before it reverses the order (default -created)")
	cmd.Flags().StringVar(&c.view, "view", "", "a view of the config or a stock view, such as \"stuck for two days\": "+
		"its filter and order")
	cmd.Flags().BoolVar(&c.cached, "cached", false, "only what is in the index; no call")
	return cmd
}

// parse parses filter and order; flags override the view's. Days without a field have the zone of the printed times.
func (c *choice) parse(r *root, a *app.App) (filter.OperationExpr, index.Sort, error) {
	if c.view != "" {
		v, ok := viewOf(a, c.view)
		if !ok {
			return filter.OperationExpr{}, index.Sort{}, usage("there is no view %q", c.view)
		}
		if c.filter == "" {
			c.filter = v.Filter
		}
		if c.sort == "" {
			c.sort = v.Sort
		}
	}
	f, err := filter.Parse(c.filter)
	if err != nil {
		return f, index.Sort{}, &api.Error{Kind: api.Usage, Public: "--" + err.Error(),
			Hint: "opdeck operation list --help has the language of filters."}
	}
	s, err := index.ParseSort(c.sort)
	if err != nil {
		return f, s, usage("--sort: operations cannot be sorted by %q; use one of %s", strings.TrimPrefix(c.sort, "-"),
			strings.Join(index.SortFields, ", "))
	}
	return f.In(r.zone), s, nil
}

// viewOf is a view of the config, or a stock view.
func viewOf(a *app.App, name string) (v index.StockView, ok bool) {
	if c, ok := a.Config.Views[name]; ok {
		return index.StockView{Name: name, Filter: c.Filter, Sort: c.Sort}, true
	}
	for _, v := range index.StockViews() {
		if v.Name == name {
			return v, true
		}
	}
	return v, false
}

func operationListCommand(r *root) *cobra.Command {
	var c choice
	cmd := c.flags(&cobra.Command{Long: "Lists operations of the local index. If the index was last updated longer ago " +
		"than max_age of [index], or is not complete, the command first reads up to six pages (one billing call each); " +
		"--cached reads nothing. --live asks the service for one page instead: filter and order then apply to that page " +
		"only.\n\n" +
		"The answer says where it came from and how old it is: as_of is the time of the oldest row, because the total " +
		"covers all rows. complete is false while operations are known to be missing (json; docs/index.md).\n\n" +
		"The language of --filter:\n\n" +
		filter.Operations().Help()})
	cmd.Flags().IntVar(&c.limit, "limit", 50, "operations per page")
	cmd.Flags().IntVar(&c.page, "page", 0, "page number; the first page is 0")
	cmd.Flags().BoolVar(&c.live, "live", false, "ask the service for one page")
	type operations = view[operationsJSON, api.Operation]
	return prints(r, lists(cmd), func(ctx context.Context, a *app.App, _ []string) (out operations, err error) {
		switch {
		case c.limit < 1 || c.limit > 10_000 || c.live && c.limit > 1000:
			return out, usage("--limit must be from 1 to 10000, with --live to 1000")
		case c.page < 0:
			return out, usage("--page must not be below 0")
		case c.live && c.cached:
			return out, usage("--live and --cached cannot be combined")
		}
		f, s, err := c.parse(r, a)
		if err != nil {
			return out, err
		}
		read := listIndex
		if c.live {
			read = listLive
		}
		l, err := read(r, ctx, a, c, f, s)
		of := "total not known"
		if l.Total != nil {
			n, _ := l.Total.Int64() // number made it of one
			of = "of " + format.Count(int(n))
		}
		return list(l, l.Items, operationTable(r.options(ctx, a), l.Items)).says("%s %s, from the %s: %s",
			format.Plural(len(l.Items), "operation", "operations"), of, l.Source, l.says), err
	})
}

// operationsJSON is the JSON of a list.
type operationsJSON struct {
	AsOf       *time.Time      `json:"as_of"` // null: not known
	Source     string          `json:"source"`
	Complete   bool            `json:"complete"`    // no row is known to be missing
	Indexed    int64           `json:"indexed"`     // operations in the index
	KnownTotal *int64          `json:"known_total"` // operations by the service's last answer; null: not reported
	Total      *json.Number    `json:"total"`       // matching operations; null: not known
	NotKnown   int64           `json:"not_known"`   // operations that the filter cannot judge: a value was never read
	Items      []api.Operation `json:"items"`

	says string // how much the source holds, and how old that is
}

// newList is an answer without rows.
func newList(source string, f index.Freshness) operationsJSON {
	l := operationsJSON{Source: source, Complete: f.Complete, Indexed: f.Rows, AsOf: stamp(f.AsOf),
		Items: []api.Operation{}}
	if f.Total >= 0 {
		l.KnownTotal = &f.Total
	}
	return l
}

// listLive reads one page from the service.
func listLive(r *root, ctx context.Context, a *app.App, c choice, f filter.OperationExpr, s index.Sort) (operationsJSON,
	error) {
	whole := mask.ByCaller(ctx) // filter and order apply to the values themselves
	ans, err := servicefilter.Ask(whole, a.Client, f, c.page, c.limit, a.Now())
	if err != nil {
		return operationsJSON{}, err
	}
	p := ans.Page
	if ans.Asked != "" {
		r.say("%s", ans.Summary())
	} else if p, err = endpoint.Do(whole, a.Client, endpoint.ListOperations,
		api.OperationQuery{Page: c.page, Size: c.limit}); err != nil {
		return operationsJSON{}, err
	}
	sayUnusable(r, p.Unusable)
	unknown := sayUnreported(r, index.UnreportedOn(p.Items, f, p.At))
	fresh, err := a.Index.Freshness(ctx)
	if err != nil {
		return operationsJSON{}, err
	}
	out := newList("service", fresh)
	out.AsOf, out.Items, out.NotKnown = stamp(p.At), p.Items, unknown
	out.says = "as of " + format.Time(p.At, r.zone)
	n, err := strconv.ParseInt(string(p.Total), 10, 64)
	if err == nil {
		out.Total = number(n)
	}
	exact := f.Empty() || ans.Asked != "" && ans.Held && ans.Whole // the service counted the matches
	if ans.Asked == "" {
		if out.KnownTotal = &n; err != nil {
			out.KnownTotal = nil
		}
	}
	out.Complete = noteWhole(ctx, p, err == nil && (exact && c.sort == "" || int64(len(p.Items)) == n))
	if !f.Empty() || c.sort != "" {
		if out.Items, err = a.Index.Arrange(ctx, p.Items, f, s, p.At); err != nil {
			return out, err
		}
	}
	if !exact {
		r.say("The filter covers this page of %d only; without --live it covers the whole index.", len(p.Items))
		out.Total = number(int64(len(out.Items)))
	}
	if len(out.Items) > c.limit {
		r.say("The service returned %d operations instead of %d; opdeck shows the first %d.",
			len(p.Items), c.limit, c.limit)
		out.Items, out.Complete = out.Items[:c.limit], false
	}
	sayMixed(r, s, out.Items, index.Group{})
	out.Items = mask.For(ctx, out.Items)
	return out, nil
}

// sayMixed says that amounts of several currencies are sorted by their number.
func sayMixed(r *root, s index.Sort, items []api.Operation, all index.Group) {
	if s.Mixed(slices.Values(items), all) {
		r.say("Sorted by number only: currencies are mixed.")
	}
}

// noteWhole notes and reports whether a page of the service is all that there is.
func noteWhole(ctx context.Context, p api.Page[api.Operation], all bool) bool {
	e := evidence.Evidence{Read: "the page", Route: "GET " + endpoint.ListOperations.Template(),
		Seen: evidence.Moment{At: p.At},
		Shows: fmt.Sprintf("showed %s, of a total of %s", format.Plural(len(p.Items), "operation", "operations"),
			cmp.Or(string(p.Total), "not known"))}
	if all && p.After.More != api.MoreFollows {
		e.Covers = evidence.Whole
	}
	c := evidence.Conclusion{Kind: evidence.Complete, Says: "the page is complete", Rests: []evidence.Evidence{e}}
	c, holds := c.Held(evidence.Need{Covers: evidence.Whole}, "the page is not complete")
	evidence.Note(ctx, c)
	return holds
}

// number is n for JSON.
func number(n int64) *json.Number {
	s := json.Number(strconv.FormatInt(n, 10))
	return &s
}

func operationsOf(rows []index.Record) []api.Operation {
	out := make([]api.Operation, 0, len(rows))
	for _, row := range rows {
		out = append(out, row.Op)
	}
	return out
}

// freshen updates the index, and asks the service with its own filters for matches of f while the index is incomplete;
// the answer is stored in the index.
func (c *choice) freshen(r *root, ctx context.Context, a *app.App, f filter.OperationExpr) error {
	if err := freshenIndex(r, ctx, a, c.cached); err != nil || c.cached {
		return err
	}
	if fresh, err := a.Index.Freshness(ctx); err != nil || fresh.Complete {
		return nil
	}
	ans, err := servicefilter.Ask(mask.ByCaller(ctx), a.Client, f, 0, 0, a.Now())
	switch {
	case err != nil:
		r.say("The service does not support this filter: %s", asError(err).Public)
	case ans.Asked != "":
		r.say("%s", ans.Summary())
	}
	return nil
}

// listIndex is a page from the index.
func listIndex(r *root, ctx context.Context, a *app.App, c choice, f filter.OperationExpr,
	s index.Sort) (operationsJSON, error) {
	if err := c.freshen(r, ctx, a, f); err != nil {
		return operationsJSON{}, err
	}
	w, err := a.Index.Answer(ctx, index.Query{Filter: f, Sort: s, Skip: c.page * c.limit, Limit: c.limit}, a.Now())
	if err != nil {
		return operationsJSON{}, err
	}
	sayWhatIsMissing(r, a, w.Fresh)
	unknown, err := notKnown(r, ctx, a, f)
	if err != nil {
		return operationsJSON{}, err
	}
	if w.Total == 0 && !f.Empty() || len(f.IDs()) > 1 {
		if err := sayMissing(r, ctx, a, f, w.Total); err != nil {
			return operationsJSON{}, err
		}
	}
	if s.Amounts() {
		sums, err := a.Index.Totals(ctx, f, nil, 0, a.Now())
		if err != nil {
			return operationsJSON{}, err
		}
		sayMixed(r, s, operationsOf(w.Window.Rows), sums)
	}
	out := newList("index", w.Fresh)
	out.Total, out.Items, out.NotKnown = number(w.Total), operationsOf(w.Window.Rows), unknown
	out.says = w.Fresh.Says(a.Now(), r.zone)
	return out, sayNoted(r, ctx, a, f, out.Items)
}

// saidNotes bounds the notes that a list says.
const saidNotes = 10

// sayNoted says which notes contain words of the filter.
func sayNoted(r *root, ctx context.Context, a *app.App, f filter.OperationExpr, items []api.Operation) error {
	notes, err := a.Index.Noted(ctx, f)
	o, said := r.options(ctx, a), 0
	o.Zone = cmp.Or(o.Zone, time.UTC)
	for _, op := range items {
		if n, ok := note.Of(op, notes); ok && said < saidNotes {
			said++
			r.say("%s: %s", op.OPID.Line(64), present.NoteFound(o, n))
		}
	}
	return err
}

// sayMissing says which words or ids of a filter match nothing, and if nothing was found, what was looked for and how
// it was understood.
func sayMissing(r *root, ctx context.Context, a *app.App, f filter.OperationExpr, found int64) error {
	missing, err := a.Index.Missing(ctx, f, a.Now())
	switch {
	case err != nil:
		return err
	case found == 0:
		missing = "No operation in the local index matches “" + untrusted.Text(f.String()).Line(200) + "”. " + missing
	case missing == "":
		return nil
	}
	r.say("%s", strings.TrimSpace(missing))
	return nil
}

// freshenIndex updates the index as far as a command may. If the service cannot be asked, a non-empty index is still
// an answer.
func freshenIndex(r *root, ctx context.Context, a *app.App, cached bool) error {
	if cached {
		return nil
	}
	f, err := a.Mirror().Freshen(ctx, pagesAtOnce)
	if err != nil && (f.Rows == 0 || ctx.Err() != nil) {
		return err
	}
	if err != nil {
		r.say("The list could not be read: %s These rows are from the index.", asError(err).Public)
	}
	return nil
}

// notKnown counts the rows of the index that the filter cannot judge, and says so.
func notKnown(r *root, ctx context.Context, a *app.App, f filter.OperationExpr) (int64, error) {
	u, err := a.Index.Unreported(ctx, f, a.Now())
	return sayUnreported(r, u), err
}

func sayUnreported(r *root, u index.Unreported) int64 {
	if u.Rows > 0 {
		r.say("%s", u)
	}
	return u.Rows
}

// sayWhatIsMissing says what an answer from the index lacks.
func sayWhatIsMissing(r *root, a *app.App, f index.Freshness) {
	switch {
	case !a.Config.Index.Enabled:
		r.say("The index is switched off ([index] enabled): it has only what commands have read.")
	case !f.Complete:
		if r.output != "table" { // a table ends with that
			r.say("The index is not complete, %s.", f.Says(a.Now(), r.zone))
		}
		r.say("The console and opdeck serve read the rest, or opdeck index sync --wait.")
	}
}

func operationExportCommand(r *root) *cobra.Command {
	var c choice
	var noMark bool
	cmd := lists(c.flags(&cobra.Command{Long: "Writes all operations that match the filter to a new file (mode 0600): " +
		"as CSV for spreadsheets if its name ends in .csv, as JSON lines, each the record as the service sent it, if it " +
		"ends in .jsonl. -o csv or -o jsonl wins over the name. Nothing is overwritten. FILE may be -, standard output, " +
		"which gets the same bytes. The export is recorded.\n\n" +
		"CSV is UTF-8 with a byte order mark. Times are in UTC, an amount is a decimal beside a column with its currency, " +
		"no cell has control characters, and text that a spreadsheet would run has an apostrophe before it.",
		RunE: r.do(func(ctx context.Context, a *app.App, args []string) error {
			args[0] = folder.Expand(args[0])
			as, err := exportFormat(r, args[0])
			if err != nil {
				return err
			}
			f, s, err := c.parse(r, a)
			if err != nil {
				return err
			}
			if err := freshenIndex(r, ctx, a, c.cached); err != nil {
				return err
			}
			sheet := index.Sheet{Filter: f, Sort: s, Format: as, NoMark: noMark}
			var done app.Exported
			written := ""
			if args[0] == "-" {
				done.Rows, done.Fresh, err = a.Mirror().ExportTo(ctx, r.env.Out, sheet, r.progress())
			} else {
				done, err = a.Mirror().Export(ctx, sheet, args[0], r.progress())
				written = " written to " + args[0]
			}
			if err != nil {
				return err
			}
			r.say("%s%s, of the index: %s.", format.Plural(done.Rows, "operation", "operations"), written,
				done.Fresh.Says(a.Now(), r.zone))
			sayWhatIsMissing(r, a, done.Fresh)
			_, err = notKnown(r, ctx, a, f)
			return err
		})}))
	cmd.Flags().BoolVar(&noMark, "no-bom", false, "CSV without the byte order mark")
	r.printed[cmd] = []printed{{jsonl: reflect.TypeFor[api.Operation]()}}
	return cmd
}

// exportFormat is the format of -o, else that of the file's name.
func exportFormat(r *root, file string) (index.Format, error) {
	if as := index.Format(r.output); as == index.CSV || as == index.JSONL {
		return as, nil
	}
	as, ok := index.FormatOf(file)
	switch {
	case r.output == "json":
		return as, usage("operation export writes csv or jsonl, not json")
	case !ok && file == "-":
		return as, usage("standard output has no file name: use -o csv or -o jsonl")
	case !ok:
		return as, usage("the file name must end in .csv or .jsonl, or use -o csv or -o jsonl")
	}
	return as, nil
}

// progress prints the progress of a long job, at most twice a second.
func (r *root) progress() func(done, total int) {
	var last time.Time
	return func(done, total int) {
		if now := time.Now(); total > 0 && done < total && now.Sub(last) >= 500*time.Millisecond {
			last = now
			fmt.Fprintf(r.env.Err, "%s of %s (%d %%)\n", format.Count(done), format.Count(total), 100*done/total)
		}
	}
}
