print("graine-transport-probe")
