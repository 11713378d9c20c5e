package operations

// The parts of the screen. Each has the methods of one concern, over the state that they share.
type (
	columnChoice struct{ *Screen } // which columns are shown, and the dialog that chooses them
	totalsPanel  struct{ *Screen } // exact totals of what is filtered
	savedViews   struct{ *Screen } // views of the config and the person's own
	jobs         struct{ *Screen } // exports, and reading many again
	loader       struct{ *Screen } // rows from the index, pages from the service
	heading      struct{ *Screen } // what the list says above its rows
)

func (s *Screen) columns() columnChoice { return columnChoice{s} }
func (s *Screen) sums() totalsPanel     { return totalsPanel{s} }
func (s *Screen) saves() savedViews     { return savedViews{s} }
func (s *Screen) jobs() jobs            { return jobs{s} }
func (s *Screen) loader() loader        { return loader{s} }
func (s *Screen) heading() heading      { return heading{s} }
