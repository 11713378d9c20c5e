package config

import "github.com/BurntSushi/toml"

// retired are the keys that left, with what to write or do instead. The name of a section that a person chose is NAME.
var retired = map[string]string{
	"audit.witnesses": "keep what opdeck audit checkpoint prints, and compare with opdeck audit verify --against FILE",
	"ui.viewer":       "save a document with w, or with opdeck document download, and open the file",
	"notify.NAME": "write command, or url with secret_env or secret_file, and min below [notify]; it has one receiver, " +
		"other rules belong to Alertmanager (packaging/alerts.yml)",
	"notify.on":    "the begin and end of a first cause and writes that wait for approval are always told",
	"notify.for":   "use the for of a rule in packaging/alerts.yml",
	"notify.after": "a write in doubt is a cause and is told as one",
	"notify.view":  viewRule,
	"notify.when":  viewRule,
	"notify.by":    viewRule,
	"notify.zone":  viewRule,
}

const viewRule = "let a timer of the host run opdeck operation list --view NAME -o json and judge its total"

// unknown is the mistake of a key that no section has: its substitute if it is retired, else the name that is meant.
func unknown(md toml.MetaData, k toml.Key) string {
	name := k.String()
	if len(k) > 2 || len(k) == 2 && md.Type(k...) == "Hash" {
		name = k[0] + ".NAME"
	}
	if instead := retired[name]; instead != "" {
		return "retired: " + instead
	}
	return "unknown key" + similar(k)
}
