package endpoint

import (
	"context"
	"fmt"
	"strconv"

	"opdeck/api"
)

// ways are the paging parameters of other services.
var ways = []api.Paging{
	{PageName: "page", SizeName: "pageSize"}, {PageName: "page", SizeName: "limit"}, {PageName: "page", SizeName: "size"},
	{Way: api.ByOffset, PageName: "offset", SizeName: "limit"}, {PageName: "page", SizeName: "per_page"},
	{Way: api.ByOffset, PageName: "skip", SizeName: "take"}, {PageName: "pageNumber", SizeName: "pageSize"},
}

// pagingSettings checks whether the next page differs from the first and, if not, which other parameters work (one
// billing call, else up to ten). It returns the lines for [service].
func (w *Wire) pagingSettings(ctx context.Context, first api.Page[api.Operation], p *api.Inspection) (lines []string) {
	if w.first.Load() == fromOne {
		lines = append(lines, "first_page = 1")
	}
	chained := first.After.Next != "" && !first.After.ByNumber
	all := string(first.Total) == strconv.Itoa(len(first.Items)) && first.After.More != api.MoreFollows
	if p.Err != nil || len(first.Items) == 0 || all || chained && first.Total == "" || first.After.More == api.NoMore {
		return lines
	}
	same, ok := w.isFirst(ctx, w.paging(), 1, first)
	if p.Repeats = ok && same; !p.Repeats || chained { // the sync follows the answer's links
		return lines
	}
	for _, how := range ways {
		if same, ok := w.isFirst(ctx, how, 2, first); !ok || same {
			continue
		}
		if how.Way == api.ByOffset {
			lines = append(lines, `paging = "offset"`)
		}
		lines = append(lines, fmt.Sprintf("page_name = %q", how.PageName), fmt.Sprintf("page_size_name = %q", how.SizeName))
		if same, ok := w.isFirst(ctx, how, 1, first); how.CountsPages() && ok && same {
			lines = append(lines, "first_page = 1")
		}
		return lines
	}
	if first.After.More == api.MoreFollows {
		return append(lines, `cursor_name = "" # the name in the query that takes what cursor_field holds`,
			fmt.Sprintf("cursor_field = %q", first.After.Key))
	}
	return append(lines, `paging = "none" # only if these are all operations`)
}

// isFirst reports whether page n, requested by how, is the first one; ok is false if it could not be read.
func (w *Wire) isFirst(ctx context.Context, how api.Paging, n int, first api.Page[api.Operation]) (same, ok bool) {
	r, err := ListOperations.request()
	if err != nil {
		return false, false
	}
	r.Query, r.Follows = ListOperations.values(page(w.client.Service(), n, 0)), true
	how.Ask(r.Query, "")
	a, err := w.client.Read(ctx, r, nil)
	if err != nil {
		return false, false
	}
	got, err := pageOf[api.Operation](w, r, a, api.OperationRecord)
	return err == nil && len(got.Items) > 0 && got.Items[0].OPID == first.Items[0].OPID, err == nil
}
