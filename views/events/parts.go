package events

// The parts of the screen. Each has the methods of one concern, over the state that they share.
type (
	hookForm   struct{ *Screen } // the service's settings of webhooks
	rejections struct{ *Screen } // deliveries that were not taken
	replaying  struct{ *Screen } // sending an event once more
	delivered  struct{ *Screen } // the page of one event
)

func (s *Screen) hookSettings() hookForm { return hookForm{s} }
func (s *Screen) rejections() rejections { return rejections{s} }
func (s *Screen) replaying() replaying   { return replaying{s} }
func (s *Screen) delivered() delivered   { return delivered{s} }
