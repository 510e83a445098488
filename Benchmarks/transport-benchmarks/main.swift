print("transport-benchmarks")
