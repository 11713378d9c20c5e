package ui

import (
	"slices"

	"opdeck/ui/keymap"
	"opdeck/ui/widget"
)

// Linker is for pages with a cursor: Links is what it can stand on, and Point puts it
// on one by its id; false: there is none.
type Linker interface {
	Links() []widget.Link
	Point(id string) bool
}

// Links implements Linker.
func (p *Page) Links() []widget.Link { return p.links }

// Point implements Linker.
func (p *Page) Point(id string) bool {
	i := p.find(id)
	if i >= 0 {
		p.point(i)
	}
	return i >= 0
}

// Link is what the cursor is on; without an id: the page has none.
func (p *Page) Link() widget.Link {
	if p.at < 0 || p.at >= len(p.links) {
		return widget.Link{}
	}
	return p.links[p.at]
}

func (p *Page) find(id string) int {
	return slices.IndexFunc(p.links, func(l widget.Link) bool { return l.ID == id })
}

// point puts the cursor on link i and shows it, with the first one also what stands
// above it.
func (p *Page) point(i int) {
	p.at = i
	p.Layout()
	if p.view.Show(p.line); i == 0 {
		p.view.Show(0)
		p.view.Show(p.line)
	}
}

// follow takes the links that the page has now: the cursor stays on its own.
func (p *Page) follow(now []widget.Link) {
	was := p.Link().ID
	p.links = now
	if i := p.find(was); i >= 0 && (p.at >= len(now) || now[p.at].ID != was) {
		p.at = i
	}
	p.at = max(min(p.at, len(now)-1), 0)
}

// item is what the keys for an id and for JSON are about: the id is that of the link.
func (p *Page) item() Item {
	out := p.screen.Item()
	if l := p.Link(); l.Copy != "" {
		out.ID, out.IDWhat = l.Copy, l.What
	}
	return out
}

// move moves the cursor; false: k does not, or the page goes on scrolling.
func (p *Page) move(k keymap.Press) bool {
	n, keys := len(p.links), p.env.Keys
	if n == 0 {
		return false
	}
	switch nav := keys.Nav; {
	case keys.Global.Pane.Match(k):
		return p.nextOpen(1)
	case keys.Global.PaneBack.Match(k):
		return p.nextOpen(-1)
	case nav.Down.Match(k) && p.at < n-1:
		p.point(p.at + 1)
	case nav.Up.Match(k) && p.at > 0:
		p.point(p.at - 1)
	case nav.Top.Match(k):
		p.point(0)
	case nav.Bottom.Match(k):
		p.point(n - 1)
		p.view.Update(k)
	default:
		return false
	}
	return true
}

// nextOpen goes to the next link that opens something (1), or to the one before (-1),
// around the end.
func (p *Page) nextOpen(by int) bool {
	n := len(p.links)
	for i := 1; i <= n; i++ {
		if at := ((p.at+by*i)%n + n) % n; p.links[at].Opens {
			p.point(at)
			return true
		}
	}
	return false
}

// catchUp puts the cursor on the first link that is on screen, unless it is.
func (p *Page) catchUp() {
	if len(p.links) == 0 || p.view.Searching() {
		return
	}
	was := p.at
	for i := 0; !p.view.Sees(p.line) && i < len(p.links); i++ {
		p.at = i
		p.Layout()
	}
	if !p.view.Sees(p.line) {
		p.at = was
		p.Layout()
	}
}

// linkKeys are the keys of the cursor, of a page that has one.
func (p *Page) linkKeys() []keymap.Key {
	if !slices.ContainsFunc(p.links, func(l widget.Link) bool { return l.Opens }) {
		return nil
	}
	open, next, before := p.env.Keys.List.Open, p.env.Keys.Global.Pane, p.env.Keys.Global.PaneBack
	open.Set("")
	if !p.Link().Opens {
		open.Extra = true
	}
	next.SetHelp(next.Help().Key, "next link")
	next.Long, next.Extra = "next line that opens something; j and k move line by line", false
	before.SetHelp(before.Help().Key, "previous link")
	before.Long = "previous line that opens something"
	return []keymap.Key{open, next, before}
}
