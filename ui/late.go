package ui

import "opdeck/api/untrusted"

// Layered is a screen that can cover its own content, as a list does with the page of a record. Layer returns the
// cover; nil: there is none.
type Layered interface{ Layer() *Layer }

// Layer covers a screen; each has its own address.
type Layer struct{ Crumb string } // its name, short

func layerOf(s Screen) *Layer {
	if l, ok := s.(Layered); ok {
		return l.Layer()
	}
	return nil
}

// stayed reports whether the person is still on the screen of t: it is on top with the
// same layer, no dialog is open, and the person is not typing.
func (s *router) stayed(st *openScreen, t Ticket) bool {
	return st == s.stack.top() && len(s.dialogs.overlays) == 0 && !st.screen.Editing() && layerOf(st.screen) == t.layer
}

// late returns the effect of an answer for a person who has gone on in the meantime: it names
// the dialog in a notice and opens nothing, but still explains the outcome of a write.
// read: the answer is that of a read.
func late(a Action, read bool) Action {
	title := ""
	switch a := a.(type) {
	case Many:
		out := make(Many, len(a))
		for i, one := range a {
			out[i] = late(one, read)
		}
		return out
	case Explain:
		if !read {
			return a
		}
		if a.failed && len(a.Lines) > 0 {
			return Notify{Level: Error, Text: a.Title + ": " + a.Lines[0]}
		}
		title = a.Title
	case Confirm:
		title = a.Title
	case Ask:
		title = a.Title
	case Fill:
		title = a.Form.form().ask.Title
	case Choose:
		title = a.Title
	case Raw:
		title = a.Title
	case Open:
		title = a.Place.Kind
	default:
		return a
	}
	return Notify{Level: Warning, Text: "“" + untrusted.Text(title).Line(80) +
		"” was not opened because you moved on. Nothing was sent; start again from there."}
}
