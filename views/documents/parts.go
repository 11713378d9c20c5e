package documents

// The parts of the screen. Each has the methods of one concern, over the state that they share.
type (
	changes      struct{ *Screen } // what is asked before a write, and the writes
	customerFile struct{ *Screen } // attaching one of the customer's files
)

func (s *Screen) changes() changes           { return changes{s} }
func (s *Screen) customerFile() customerFile { return customerFile{s} }
