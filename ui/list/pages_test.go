package list

import (
	"testing"

	"opdeck/api"
)

// TestPages adds pages as they come: shifted ones, shorter ones, ones without a total.
func TestPages(t *testing.T) {
	page := func(total string, ids ...string) api.Page[string] {
		return api.Page[string]{Items: ids, Total: api.Number(total)}
	}
	chained := func(total, next string, ids ...string) api.Page[string] {
		p := page(total, ids...)
		p.After.Next, p.After.More = next, api.MoreFollows
		return p
	}
	for name, c := range map[string]struct {
		pages []api.Page[string]
		all   int
		whole bool
		said  string
	}{
		"none":               {[]api.Page[string]{page("0")}, 0, true, "No files"},
		"one page":           {[]api.Page[string]{page("2", "a", "b")}, 2, true, "All files read: 2"},
		"first of two":       {[]api.Page[string]{page("3", "a", "b")}, 2, false, "2 of 3 files read"},
		"a record came":      {[]api.Page[string]{page("3", "a", "b"), page("4", "b", "c")}, 3, false, "3 of 4 files read"},
		"no id":              {[]api.Page[string]{page("3", "a", "", "b")}, 2, false, "2 of 3 files read"},
		"without a total":    {[]api.Page[string]{page("", "a"), page("", "b")}, 2, false, "2 files read"},
		"its end":            {[]api.Page[string]{page("", "a"), page("")}, 1, true, "All files read: 1"},
		"a total too large":  {[]api.Page[string]{page("9", "a"), page("9")}, 1, false, "1 of 9 files read; the service lists no others"},
		"a page repeated":    {[]api.Page[string]{page("", "a"), page("", "a")}, 1, false, "1 files read; the service lists no others"},
		"a total too small":  {[]api.Page[string]{page("0", "a", "b")}, 2, false, "2 of 0 files read"},
		"and its end":        {[]api.Page[string]{page("1", "a", "b"), page("1")}, 2, true, "All files read: 2"},
		"a cursor":           {[]api.Page[string]{chained("", "cursor=2", "a"), chained("", "cursor=3", "b")}, 2, false, "2 files read"},
		"numbers repeat":     {[]api.Page[string]{chained("3", "cursor=2", "a"), chained("3", "cursor=2", "a")}, 1, false, "1 of 3 files read"},
		"a cursor repeats":   {[]api.Page[string]{chained("", "cursor=2", "a"), chained("", "cursor=2", "a")}, 1, false, "1 files read; the service lists no others"},
		"a total of no kind": {[]api.Page[string]{page("many", "a")}, 1, false, "1 of many files read"},
	} {
		t.Run(name, func(t *testing.T) {
			p := Pages[string]{ID: func(s string) string { return s }}
			for _, got := range c.pages {
				p = p.With(p.Next(), got)
			}
			if len(p.All) != c.all || p.Whole() != c.whole || p.Read("files") != c.said {
				t.Errorf("%q, whole: %v, %q", p.All, p.Whole(), p.Read("files"))
			}
			if p = p.With(api.PageAt{}, page("1", "z")); len(p.All) != 1 || p.Next().Page != 1 {
				t.Errorf("the first page does not begin anew: %v", p)
			}
		})
	}
}
