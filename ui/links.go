package ui

import (
	"slices"

	"opdeck/ui/keymap"
	"opdeck/ui/widget"
)

// Linker is implemented by pages with a cursor. Links returns the links that the cursor can
// reach; Point puts it on the link with an id, or returns false.
type Linker interface {
	Links() []widget.Link
	Point(id string) bool
}

// linkCursor is the cursor of a page. The methods that move it get what lays the page out again and finds its line.
type linkCursor struct {
	links []widget.Link // those that it can reach; none: the page has no cursor
	at    int           // into links
	line  int           // of the cursor, among the lines of view
	view  *widget.Viewer
	keys  *keymap.Map
}

// Links implements Linker.
func (p *Page) Links() []widget.Link { return p.cursor.links }

// Point implements Linker.
func (p *Page) Point(id string) bool {
	i := p.cursor.find(id)
	if i >= 0 {
		p.cursor.point(i, p.Layout)
	}
	return i >= 0
}

// Link returns the link under the cursor; its id is "" if the page has no links.
func (p *Page) Link() widget.Link { return p.cursor.link() }

// item returns the item for the keys that copy the id and show JSON; the id is that of the link.
func (p *Page) item() Item {
	out := p.screen.Item()
	if l := p.Link(); l.Copy != "" {
		out.ID, out.IDWhat = l.Copy, l.What
	}
	return out
}

// link returns the link under the cursor; its id is "" if the page has no links.
func (c *linkCursor) link() widget.Link {
	if c.at < 0 || c.at >= len(c.links) {
		return widget.Link{}
	}
	return c.links[c.at]
}

func (c *linkCursor) find(id string) int {
	return slices.IndexFunc(c.links, func(l widget.Link) bool { return l.ID == id })
}

// point puts the cursor on link i and scrolls to it; for the first link it scrolls to the
// top.
func (c *linkCursor) point(i int, layout func()) {
	c.at = i
	layout()
	if c.view.Show(c.line); i == 0 {
		c.view.Show(0)
		c.view.Show(c.line)
	}
}

// follow takes the new links of the page and keeps the cursor on its link.
func (c *linkCursor) follow(now []widget.Link) {
	was := c.link().ID
	c.links = now
	if i := c.find(was); i >= 0 && (c.at >= len(now) || now[c.at].ID != was) {
		c.at = i
	}
	c.at = max(min(c.at, len(now)-1), 0)
}

// move moves the cursor; false if k is no such key or the page scrolls instead.
func (c *linkCursor) move(k keymap.Press, layout func()) bool {
	n, keys := len(c.links), c.keys
	if n == 0 {
		return false
	}
	switch nav := keys.Nav; {
	case keys.Global.Pane.Match(k):
		return c.nextOpen(1, layout)
	case keys.Global.PaneBack.Match(k):
		return c.nextOpen(-1, layout)
	case nav.Down.Match(k) && c.at < n-1:
		c.point(c.at+1, layout)
	case nav.Up.Match(k) && c.at > 0:
		c.point(c.at-1, layout)
	case nav.Top.Match(k):
		c.point(0, layout)
	case nav.Bottom.Match(k):
		c.point(n-1, layout)
		c.view.Update(k)
	default:
		return false
	}
	return true
}

// reveal scrolls to the first link if that is below the top of the page, for a key that would open it or leave it
// unseen.
func (c *linkCursor) reveal(k keymap.Press, layout func()) bool {
	keys := c.keys
	if len(c.links) == 0 || c.at > 0 || !c.view.AtTop() || c.view.Sees(c.line) ||
		!keys.List.Open.Match(k) && !keys.Nav.Down.Match(k) && !keys.Global.Pane.Match(k) {
		return false
	}
	c.point(0, layout)
	return true
}

// nextOpen goes to the next link that opens something (1), or to the one before (-1),
// around the end.
func (c *linkCursor) nextOpen(by int, layout func()) bool {
	n := len(c.links)
	for i := 1; i <= n; i++ {
		if at := ((c.at+by*i)%n + n) % n; c.links[at].Opens {
			c.point(at, layout)
			return true
		}
	}
	return false
}

// catchUp puts the cursor on the first visible link if its own is not visible.
func (c *linkCursor) catchUp(layout func()) {
	if len(c.links) == 0 || c.view.Searching() {
		return
	}
	was := c.at
	for i := 0; !c.view.Sees(c.line) && i < len(c.links); i++ {
		c.at = i
		layout()
	}
	if !c.view.Sees(c.line) {
		c.at = was
		layout()
	}
}

// hints returns the keys of the cursor if the page has one.
func (c *linkCursor) hints() []keymap.Key {
	if !slices.ContainsFunc(c.links, func(l widget.Link) bool { return l.Opens }) {
		return nil
	}
	open, next, before := c.keys.List.Open, c.keys.Global.Pane, c.keys.Global.PaneBack
	open.Set("")
	if !c.link().Opens {
		open.Extra = true
	}
	next.SetHelp(next.Help().Key, "next link")
	next.Long, next.Extra = "next line that opens something; j and k move line by line", false
	before.SetHelp(before.Help().Key, "previous link")
	before.Long = "previous line that opens something"
	return []keymap.Key{open, next, before}
}
