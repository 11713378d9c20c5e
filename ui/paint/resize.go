package paint

import tea "github.com/charmbracelet/bubbletea"

// resumeMsg reports that the process was continued after a stop by another
// process.
type resumeMsg struct{}

// offer puts v into a channel of capacity one and drops an older value.
func offer[T any](ch chan T, v T) {
	for {
		select {
		case ch <- v:
			return
		default:
		}
		select {
		case <-ch:
		default:
		}
	}
}

// sendSizes sends new sizes to the model. While the loop is busy, a newer size replaces
// an older one, so that the sender never waits.
func (s *session) sendSizes() {
	newest := make(chan Size, 1)
	s.workers.Go(func() { s.watchSizes(newest) })
	for {
		select {
		case z := <-newest:
			s.program.Send(sizeMsg(z))
		case <-s.ended:
			return
		}
	}
}

// watchSizes offers every size there is to know of.
func (s *session) watchSizes(newest chan Size) {
	if s.opt.Resizes == nil {
		if s.tty.out != nil {
			s.watchWindow(func() {
				if z, ok := s.tty.size(); ok {
					offer(newest, z)
				}
			})
		}
		return
	}
	for resizes := s.opt.Resizes; ; {
		select {
		case z, ok := <-resizes:
			if !ok {
				resizes = nil // never read a closed channel in a loop
			} else if z, ok = z.clamp(); ok {
				offer(newest, z)
			}
		case <-s.ended:
			return
		}
	}
}

// resume takes the terminal again. It runs on the loop's goroutine.
func (s *session) resume() {
	if err := s.tty.raw(); err != nil {
		s.stop(err)
		return
	}
	s.painter.Reenter()
	size := sizeMsg(s.size())
	changed := size != s.model.size // while we were away
	s.workers.Go(func() {
		if changed {
			s.program.Send(size)
		}
		s.program.Send(tea.ResumeMsg{})
	})
}
