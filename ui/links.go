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

// Link returns the link under the cursor; its id is "" if the page has no links.
func (p *Page) Link() widget.Link {
	if p.at < 0 || p.at >= len(p.links) {
		return widget.Link{}
	}
	return p.links[p.at]
}

func (p *Page) find(id string) int {
	return slices.IndexFunc(p.links, func(l widget.Link) bool { return l.ID == id })
}

// point puts the cursor on link i and scrolls to it; for the first link it scrolls to the
// top.
func (p *Page) point(i int) {
	p.at = i
	p.Layout()
	if p.view.Show(p.line); i == 0 {
		p.view.Show(0)
		p.view.Show(p.line)
	}
}

// follow takes the new links of the page and keeps the cursor on its link.
func (p *Page) follow(now []widget.Link) {
	was := p.Link().ID
	p.links = now
	if i := p.find(was); i >= 0 && (p.at >= len(now) || now[p.at].ID != was) {
		p.at = i
	}
	p.at = max(min(p.at, len(now)-1), 0)
}

// item returns the item for the keys that copy the id and show JSON; the id is that of the link.
func (p *Page) item() Item {
	out := p.screen.Item()
	if l := p.Link(); l.Copy != "" {
		out.ID, out.IDWhat = l.Copy, l.What
	}
	return out
}

// move moves the cursor; false if k is no such key or the page scrolls instead.
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

// reveal scrolls to the first link if that is below the top of the page, for a key that would open it or leave it
// unseen.
func (p *Page) reveal(k keymap.Press) bool {
	keys := p.env.Keys
	if len(p.links) == 0 || p.at > 0 || !p.view.AtTop() || p.view.Sees(p.line) ||
		!keys.List.Open.Match(k) && !keys.Nav.Down.Match(k) && !keys.Global.Pane.Match(k) {
		return false
	}
	p.point(0)
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

// catchUp puts the cursor on the first visible link if its own is not visible.
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

// linkKeys returns the keys of the cursor if the page has one.
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
