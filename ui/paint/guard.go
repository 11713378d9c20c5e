package paint

import (
	"reflect"
	"runtime/debug"

	tea "github.com/charmbracelet/bubbletea"
)

// guard makes a command report a panic instead of ending the process, for itself
// and for the commands of a batch or a sequence that it returns.
func guard(cmd tea.Cmd, caught func(any, []byte)) tea.Cmd {
	if cmd == nil {
		return nil
	}
	return func() (msg tea.Msg) {
		defer func() {
			if r := recover(); r != nil {
				caught(r, debug.Stack())
				msg = nil
			}
		}()
		return guardAll(cmd(), caught)
	}
}

var commands = reflect.TypeFor[[]tea.Cmd]()

// guardAll guards the commands inside a message. Bubble Tea does not export the
// type of a sequence, so any slice of commands is taken for one.
func guardAll(msg tea.Msg, caught func(any, []byte)) tea.Msg {
	if msg == nil {
		return nil
	}
	v := reflect.ValueOf(msg)
	if v.Kind() != reflect.Slice || !v.CanConvert(commands) {
		return msg
	}
	out := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
	for i := range v.Len() {
		out.Index(i).Set(reflect.ValueOf(guard(v.Index(i).Interface().(tea.Cmd), caught)))
	}
	return out.Interface()
}
