package console

import (
	"context"
	"maps"
	"os"
	"slices"
	"time"

	"opdeck/internal/domain/index"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/domain/note"
	"opdeck/internal/field"
	"opdeck/ui"
	"opdeck/views/operation"
	"opdeck/views/operations"
)

// listing queries the index with the console's clock, masked for the role.
type listing struct {
	x   *index.Index
	now func() time.Time
}

func (l listing) Window(ctx context.Context, q index.Query) (index.Window, error) {
	return l.x.Window(ctx, q, l.now())
}

func (l listing) Count(ctx context.Context, f filter.OperationExpr) (int64, error) {
	return l.x.Count(ctx, f, l.now())
}

func (l listing) Place(ctx context.Context, f filter.OperationExpr, s index.Sort, opid string) (index.Place, error) {
	return l.x.Place(ctx, f, s, opid, l.now())
}

func (l listing) Totals(ctx context.Context, f filter.OperationExpr, by []index.By, limit int) (index.Group, error) {
	return l.x.Totals(ctx, f, by, limit, l.now())
}

func (l listing) Timeline(ctx context.Context, f filter.OperationExpr) (index.Timeline, error) {
	return l.x.Timeline(ctx, f, l.now())
}

func (l listing) Values(ctx context.Context, field, typed string, limit int) ([]string, error) {
	return l.x.Values(ctx, field, typed, limit)
}

func (l listing) Unreported(ctx context.Context, f filter.OperationExpr) (index.Unreported, error) {
	return l.x.Unreported(ctx, f, l.now())
}

func (l listing) Missing(ctx context.Context, f filter.OperationExpr) (string, error) {
	return l.x.Missing(ctx, f, l.now())
}

func (l listing) Noted(ctx context.Context, f filter.OperationExpr) ([]note.Note, error) {
	return l.x.Noted(ctx, f)
}

func (l listing) Freshness(ctx context.Context) (index.Freshness, error) { return l.x.Freshness(ctx) }

// Consistent answers from a snapshot.
func (l listing) Consistent(ctx context.Context, fn func(operations.Index) error) error {
	return l.x.Consistent(ctx, func(x *index.Index) error { return fn(listing{x, l.now}) })
}

// listConfig is the configuration of the list of operations.
func (d *backend) listConfig(env *ui.Env) operations.Config {
	c := operations.Config{Off: !d.Config.Index.Enabled, Progress: d.feed.progress,
		Preview: operation.Preview(env, d.known()), Export: d.files.Export, Folder: workingFolder(),
		Columns: chosenColumns(d.Config.UI.Columns), Recall: d.Columns, Keep: d.KeepColumns, Own: d.OwnViews,
		KeepView: d.KeepView}
	for _, name := range slices.Sorted(maps.Keys(d.Config.Views)) {
		v := d.Config.Views[name]
		c.Views = append(c.Views,
			operations.View{Name: name, Filter: v.Filter, Sort: v.Sort, Columns: chosenColumns(v.Columns)})
	}
	for _, v := range index.StockViews() {
		if _, own := d.Config.Views[v.Name]; !own {
			c.Views = append(c.Views,
				operations.View{Name: v.Name, Filter: v.Filter, Sort: v.Sort, About: v.About, Stock: true})
		}
	}
	return c
}

// workingFolder is where a file name without a folder is written; "" if it is not known.
func workingFolder() string {
	dir, err := os.Getwd()
	if err != nil {
		return ""
	}
	return dir
}

// chosenColumns parses columns of the config, which was checked when it was read.
func chosenColumns(list []string) []field.Choice {
	out, err := field.ParseColumns(list)
	if err != nil {
		return nil
	}
	return out
}
