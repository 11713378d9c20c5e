package capsule

import "opdeck/api/reach"

// fault takes the texts of the service, its proxy and its certificate out of a fault.
func fault(f *reach.Fault, n Names) {
	f.Class, f.Said, f.Names, f.Key, f.Target = Word(f.Class), "", "", "", n.Of("address", f.Target)
}

// Fault is a fault without any text from outside.
func Fault(f reach.Fault, n Names) reach.Fault {
	fault(&f, n)
	return f
}
